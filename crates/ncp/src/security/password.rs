//! The bindery's password hash and the response to a login key (docs/protocols/ncp.md 2.5).
//!
//! P. Szczerbina published the algorithm in Dr. Dobb's Journal, November 1993, as free to use.

/// Mixed in where a text ends within its block, and subtracted in the rounds.
const K: [u8; 32] = [
    0x48, 0x93, 0x46, 0x67, 0x98, 0x3d, 0xe6, 0x8d, 0xb7, 0x10, 0x7a, 0x26, 0x5a, 0xb9, 0xb1, 0x35, 0x6b,
    0x0f, 0xd5, 0x70, 0xae, 0xfb, 0xad, 0x11, 0xf4, 0x47, 0xdc, 0xa7, 0xec, 0xcf, 0x50, 0xc0,
];

/// A substitution table of one nibble per byte; the nibble of byte 0 comes first.
const N: &[u8; 256] = b"780864e45c17bfa8f8cc941e46240ab92fb1d2195e7002660738293f7fcf64a0\
    23abd83a17cf189d9194e4c55c8b239e7769efc8d1a6ed077a01f54b7bec95d1\
    bd135de630bbf3649da3149483be5052cbd5d5d2d9aca0b3536951ee0e82d220\
    4f859686babf0728c73a1425f7ace593e712e1f4a6c6f430c036f87b2dc6aa8d";

/// The password hash that a bindery stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PasswordHash(pub [u8; 16]);

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The hash suffices to log in, so it must not appear in logs.
        f.write_str("PasswordHash(..)")
    }
}

/// Hashes the password of an object. Clients convert the password to upper case first.
pub fn hash(id: u32, password: &[u8]) -> PasswordHash {
    PasswordHash(digest(id.to_be_bytes(), password))
}

/// Converts a password to upper case and hashes it; no copy of it stays in memory.
pub fn hash_upper(id: u32, password: &str) -> PasswordHash {
    let mut upper = password.to_ascii_uppercase().into_bytes();
    let hash = hash(id, &upper);
    upper.fill(0);
    // Without this the compiler may remove the fill, because nobody reads the bytes afterwards.
    std::hint::black_box(&upper);
    hash
}

/// The response to a login key: it proves knowledge of the hash without transmitting it.
pub fn response(key: &[u8; 8], hash: &PasswordHash) -> [u8; 8] {
    let half = |from: usize| digest(std::array::from_fn(|at| key[from + at]), &hash.0);
    let mut long = [0; 32];
    let (left, right) = long.split_at_mut(16);
    left.copy_from_slice(&half(0));
    right.copy_from_slice(&half(4));
    for at in 0..16 {
        long[at] ^= long[31 - at];
    }
    std::array::from_fn(|at| long[at] ^ long[15 - at])
}

fn digest(id: [u8; 4], text: &[u8]) -> [u8; 16] {
    let mut block = fold(text);
    for (at, byte) in block.iter_mut().enumerate() {
        *byte ^= id[at % 4];
    }
    let mut carry = 0u8;
    for at in (0..32).chain(0..32) {
        let other = block[(at + usize::from(carry)) % 32].wrapping_sub(K[at]);
        let value = block[at].wrapping_add(carry) ^ other;
        carry = carry.wrapping_add(value);
        block[at] = value;
    }
    std::array::from_fn(|at| nibble(block[2 * at]) | nibble(block[2 * at + 1]) << 4)
}

/// Folds the text without trailing NULs into 32 bytes. A partial last block is repeated, with a byte of [`K`] between
/// repetitions.
fn fold(text: &[u8]) -> [u8; 32] {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let mut block = [0; 32];
    for part in text[..end].chunks(32) {
        let mut cycle = part.iter();
        for (at, byte) in block.iter_mut().enumerate() {
            *byte ^= *cycle.next().unwrap_or_else(|| {
                cycle = part.iter();
                &K[at]
            });
        }
    }
    block
}

const fn nibble(byte: u8) -> u8 {
    match N[byte as usize] {
        digit @ b'0'..=b'9' => digit - b'0',
        letter => letter - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// The table of docs/protocols/ncp.md 2.5, and the second login of
    /// linux-kernel-client-mars-server-ethernet-ipx.pcap (frame 796).
    const KNOWN: [(u32, &str, &str, &str, &str); 5] = [
        (1, "SECRET", "431acc6aff11a6d53f71189f6e1ca901", "67c6697351ff4aec", "2ced1e4e9303f0d9"),
        (0x0001_0002, "BENCHPW", "0758cdb594eb359384294839b98e1db4", "0011223344556677", "7038ac5f8bcc23d2"),
        (0x0001_0002, "BENCHPW", "0758cdb594eb359384294839b98e1db4", "7cc254f81be8e78d", "dbbacaf1bcb840f5"),
        (0x0001_0002, "WRONG", "e428f52102339cbfc0022eda11ac9068", "765a2e63339fc99a", "9638406db432a192"),
        (1, "SECRET", "431acc6aff11a6d53f71189f6e1ca901", "29cdbaabf2fbe346", "3e00c50016bf19ac"),
    ];

    #[test]
    fn known_passwords_give_known_hashes_and_responses() {
        for (id, password, stored, key, expected) in KNOWN {
            let stored = PasswordHash(hex(stored).try_into().unwrap());
            assert!(hash(id, password.as_bytes()) == stored, "{password}");
            assert_eq!(
                response(&hex(key).try_into().unwrap(), &stored),
                hex(expected)[..],
                "{password} {key}"
            );
        }
    }

    #[test]
    fn trailing_nuls_are_ignored_and_passwords_may_be_long_or_empty() {
        assert!(hash(1, b"SECRET\0\0") == hash(1, b"SECRET"));
        assert!(hash(1, b"") == hash(1, b"\0"));
        let long = [b'A'; 100];
        assert!(hash(1, &long) != hash(1, &long[..99]));
    }

    #[test]
    fn hash_is_not_printed() {
        assert_eq!(format!("{:?}", hash(1, b"SECRET")), "PasswordHash(..)");
    }
}
