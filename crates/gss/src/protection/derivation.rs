//! Keys for one purpose, derived from the key of a context.

use aws_lc_rs::hmac;

use super::cts::{AesKey, BLOCK};

/// What a derived key is for: the last byte of the constant (RFC 3961 5.3, RFC 8009 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Kc: signatures without encryption.
    Checksum,
    /// Ke: encryption.
    Encryption,
    /// Ki: signatures of encrypted messages.
    Integrity,
}

impl Purpose {
    fn constant(self, usage: u32) -> [u8; 5] {
        let [a, b, c, d] = usage.to_be_bytes();
        let last = match self {
            Self::Checksum => 0x99,
            Self::Encryption => 0xAA,
            Self::Integrity => 0x55,
        };
        [a, b, c, d, last]
    }
}

/// DK of RFC 3961 5.1 with AES: the constant, folded to one block and encrypted as often as the key needs.
pub(super) fn dk(base: &[u8], usage: u32, purpose: Purpose) -> Option<Vec<u8>> {
    let key = AesKey::new(base)?;
    let mut block = fold(&purpose.constant(usage));
    let mut derived = Vec::with_capacity(base.len());
    while derived.len() < base.len() {
        key.encrypt_block(&mut block);
        derived.extend_from_slice(&block);
    }
    Some(derived)
}

/// KDF-HMAC-SHA2 of RFC 8009 3.
pub(super) fn kdf_hmac_sha2(
    base: &[u8],
    hash: hmac::Algorithm,
    usage: u32,
    purpose: Purpose,
    len: usize,
) -> Vec<u8> {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hash, base));
    context.update(&1u32.to_be_bytes());
    context.update(&purpose.constant(usage));
    context.update(&[0]);
    context.update(&(len as u32 * 8).to_be_bytes());
    context.sign().as_ref().iter().copied().take(len).collect()
}

/// n-fold of RFC 3961 5.1 to 16 bytes: copies of the input, each rotated right by 13 bits, added with end-around carry.
fn fold(input: &[u8]) -> [u8; BLOCK] {
    let bits = input.len() * 8;
    let total = lcm(input.len(), BLOCK);
    let rotated = |position: usize| {
        // Bit `i` of a copy that is rotated right by `r` bits is bit `i - r` of the input.
        let copy = position / input.len();
        let byte = position % input.len();
        (0..8).fold(0u8, |value, bit| {
            let from = (byte * 8 + bit + bits * 13 - (13 * copy) % bits) % bits;
            let set = input.get(from / 8).is_some_and(|source| source >> (7 - from % 8) & 1 == 1);
            value << 1 | u8::from(set)
        })
    };
    let mut sum = [0u32; BLOCK];
    for position in 0..total {
        if let Some(place) = sum.get_mut(position % BLOCK) {
            *place += u32::from(rotated(position));
        }
    }
    carry(&mut sum);
    sum.map(|byte| byte as u8)
}

/// Moves what exceeds a byte to the byte before it, and from the first byte to the last one.
fn carry(sum: &mut [u32; BLOCK]) {
    while sum.iter().any(|byte| *byte > 0xff) {
        let mut over = 0;
        for byte in sum.iter_mut().rev() {
            *byte += over;
            over = *byte >> 8;
            *byte &= 0xff;
        }
        sum[BLOCK - 1] += over;
    }
}

fn lcm(a: usize, b: usize) -> usize {
    let mut x = a;
    let mut y = b;
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn folding_kerberos_to_128_bits_is_the_vector_of_rfc_3961() {
        assert_eq!(fold(b"kerberos").to_vec(), bytes("6b65726265726f737b9b5b2b93132b93"));
    }

    #[test]
    fn the_key_derivation_vectors_of_rfc_8009_appendix_a() {
        let base = bytes("3705D96080C17728A0E800EAB6E0D23C");
        let derived = |purpose| kdf_hmac_sha2(&base, hmac::HMAC_SHA256, 2, purpose, 16);
        assert_eq!(derived(Purpose::Checksum), bytes("B31A018A48F54776F403E9A396325DC3"));
        assert_eq!(derived(Purpose::Encryption), bytes("9B197DD1E8C5609D6E67C3E37C62C72E"));
        assert_eq!(derived(Purpose::Integrity), bytes("9FDA0E56AB2D85E1569A688696C26A6C"));
        let base = bytes("6D404D37FAF79F9DF0D33568D320669800EB4836472EA8A026D16B7182460C52");
        let derived = |purpose, len| kdf_hmac_sha2(&base, hmac::HMAC_SHA384, 2, purpose, len);
        assert_eq!(derived(Purpose::Checksum, 24), bytes("EF5718BE86CC84963D8BBB5031E9F5C4BA41F28FAF69E73D"));
        assert_eq!(
            derived(Purpose::Encryption, 32),
            bytes("56AB22BEE63D82D7BC5227F6773F8EA7A5EB1C825160C38312980C442E5C7E49")
        );
        assert_eq!(
            derived(Purpose::Integrity, 24),
            bytes("69B16514E3CD8E56B82010D5C73012B622C4D00FFC23ED1F")
        );
    }
}
