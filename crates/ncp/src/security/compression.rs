//! The compression function of MD4 (RFC 1320, 3.4) on one block, without padding and length. Packet signatures use
//! it.

/// The initial state.
pub const INITIAL: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10];

/// Word order, shifts and additive constant of each of the three rounds.
const ROUNDS: [([usize; 16], [u32; 4], u32); 3] = [
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [3, 7, 11, 19], 0),
    ([0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15], [3, 5, 9, 13], 0x5A82_7999),
    ([0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], [3, 9, 11, 15], 0x6ED9_EBA1),
];

/// Compresses one block into the state.
pub fn compress(state: [u8; 16], block: &[u8; 64]) -> [u8; 16] {
    let words: [u32; 16] = words(block);
    let start: [u32; 4] = words4(&state);
    let [mut a, mut b, mut c, mut d] = start;
    for (round, (order, shifts, constant)) in ROUNDS.iter().enumerate() {
        for (step, word) in order.iter().enumerate() {
            let mixed = match round {
                0 => (b & c) | (!b & d),
                1 => (b & c) | (b & d) | (c & d),
                _ => b ^ c ^ d,
            };
            let sum = a.wrapping_add(mixed).wrapping_add(words[*word]).wrapping_add(*constant);
            (a, b, c, d) = (d, sum.rotate_left(shifts[step % 4]), b, c);
        }
    }
    let mut out = [0; 16];
    for ((place, now), before) in out.chunks_exact_mut(4).zip([a, b, c, d]).zip(start) {
        place.copy_from_slice(&now.wrapping_add(before).to_le_bytes());
    }
    out
}

fn words(block: &[u8; 64]) -> [u32; 16] {
    std::array::from_fn(|at| word(block, at))
}

fn words4(state: &[u8; 16]) -> [u32; 4] {
    std::array::from_fn(|at| word(state, at))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]])
}

#[cfg(test)]
mod tests {
    use md4::{Digest, Md4};
    use proptest::prelude::*;

    use super::*;

    /// Pads one block as RFC 1320, 3.1 and 3.2 require.
    fn md4_of(text: &[u8]) -> [u8; 16] {
        let mut block = [0; 64];
        block[..text.len()].copy_from_slice(text);
        block[text.len()] = 0x80;
        block[56..].copy_from_slice(&(text.len() as u64 * 8).to_le_bytes());
        compress(INITIAL, &block)
    }

    /// RFC 1320, appendix A.5.
    #[test]
    fn padded_blocks_give_the_digests_of_the_rfc() {
        let hex = crate::wire::tests::hex;
        assert_eq!(md4_of(b""), hex("31d6cfe0d16ae931b73c59d7e0c089c0")[..]);
        assert_eq!(md4_of(b"abc"), hex("a448017aaf21d8525fc10ae87aa6729d")[..]);
    }

    proptest! {
        #[test]
        fn short_texts_give_the_digests_of_another_implementation(text in prop::collection::vec(any::<u8>(), 0..56)) {
            let digest: [u8; 16] = Md4::digest(&text).into();
            prop_assert_eq!(md4_of(&text), digest);
        }
    }
}
