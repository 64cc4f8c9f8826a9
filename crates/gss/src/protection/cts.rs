//! AES in CBC mode with ciphertext stealing (RFC 3962 5): a message of any length above one block keeps its length.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes256};

/// Bytes of a block.
pub(super) const BLOCK: usize = 16;
/// Blocks that are decrypted at once: enough to fill the pipeline of the processor's AES unit.
const BATCH: usize = 8;

/// A key of 128 or 256 bits with its schedule.
pub(super) enum AesKey {
    Short(Box<Aes128>),
    Long(Box<Aes256>),
}

type Block = [u8; BLOCK];

impl AesKey {
    /// A key of 16 or 32 bytes; none for another length.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(|key| Self::Short(Box::new(key))),
            32 => Aes256::new_from_slice(key).ok().map(|key| Self::Long(Box::new(key))),
            _ => None,
        }
    }

    /// Encrypts one block.
    pub(super) fn encrypt_block(&self, block: &mut Block) {
        match self {
            Self::Short(key) => key.encrypt_block(GenericArray::from_mut_slice(block)),
            Self::Long(key) => key.encrypt_block(GenericArray::from_mut_slice(block)),
        }
    }

    fn decrypt_block(&self, block: &mut Block) {
        match self {
            Self::Short(key) => key.decrypt_block(GenericArray::from_mut_slice(block)),
            Self::Long(key) => key.decrypt_block(GenericArray::from_mut_slice(block)),
        }
    }

    /// Encrypts in place; false if the message is shorter than a block.
    #[must_use]
    pub(super) fn encrypt(&self, message: &mut [u8]) -> bool {
        match self {
            Self::Short(key) => encrypt(&**key, message),
            Self::Long(key) => encrypt(&**key, message),
        }
    }

    /// Decrypts in place; false if the message is shorter than a block.
    #[must_use]
    pub(super) fn decrypt(&self, message: &mut [u8]) -> bool {
        let Some((whole, tail)) = split(message) else { return false };
        let Some((last, before)) = whole.split_last_mut() else { return false };
        let mut previous = before.last().copied().unwrap_or_default();
        if tail.is_empty() {
            self.decrypt_block(last);
            return true;
        }
        // The last whole block is the encryption of the last plain bytes; the tail is the start of the block before it.
        self.decrypt_block(last);
        let mut stolen = *last;
        for (stolen, tail) in stolen.iter_mut().zip(tail.iter_mut()) {
            let cipher = *tail;
            *tail ^= *stolen;
            *stolen = cipher;
        }
        self.decrypt_block(&mut stolen);
        xor(&mut stolen, &previous);
        *last = stolen;
        previous = Block::default();
        match self {
            Self::Short(key) => decrypt_chain(&**key, before, &mut previous),
            Self::Long(key) => decrypt_chain(&**key, before, &mut previous),
        }
        true
    }
}

/// The blocks of a message, and its last 1 to 16 bytes; a single block has no tail. None below one block.
fn split(message: &mut [u8]) -> Option<(&mut [Block], &mut [u8])> {
    let whole = match message.len() {
        0..BLOCK => return None,
        BLOCK => BLOCK,
        len => (len - 1) / BLOCK * BLOCK,
    };
    let (blocks, tail) = message.split_at_mut_checked(whole)?;
    let (blocks, _) = blocks.as_chunks_mut::<BLOCK>();
    Some((blocks, tail))
}

fn encrypt(key: &impl BlockEncrypt<BlockSize = aes::cipher::consts::U16>, message: &mut [u8]) -> bool {
    let Some((whole, tail)) = split(message) else { return false };
    let mut chain = Block::default();
    for block in whole.iter_mut() {
        xor(block, &chain);
        key.encrypt_block(GenericArray::from_mut_slice(block));
        chain = *block;
    }
    if let Some(last) = whole.last_mut()
        && !tail.is_empty()
    {
        let mut padded = Block::default();
        for (padded, tail) in padded.iter_mut().zip(tail.iter()) {
            *padded = *tail;
        }
        xor(&mut padded, &chain);
        key.encrypt_block(GenericArray::from_mut_slice(&mut padded));
        *last = padded;
        for (tail, stolen) in tail.iter_mut().zip(chain) {
            *tail = stolen;
        }
    }
    true
}

/// Decrypts whole blocks of CBC; `previous` is the ciphertext before them.
fn decrypt_chain(
    key: &impl BlockDecrypt<BlockSize = aes::cipher::consts::U16>,
    blocks: &mut [Block],
    previous: &mut Block,
) {
    for batch in blocks.chunks_mut(BATCH) {
        let mut plain = [GenericArray::default(); BATCH];
        for (plain, cipher) in plain.iter_mut().zip(batch.iter()) {
            *plain = (*cipher).into();
        }
        if let Some(plain) = plain.get_mut(..batch.len()) {
            key.decrypt_blocks(plain);
        }
        for (plain, place) in plain.iter_mut().zip(batch.iter_mut()) {
            let cipher = *place;
            place.copy_from_slice(plain);
            xor(place, previous);
            *previous = cipher;
        }
    }
}

#[inline]
fn xor(block: &mut Block, other: &Block) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_vectors_of_rfc_3962_appendix_b() {
        let key = AesKey::new(b"chicken teriyaki").unwrap();
        let text = b"I would like the General Gau's Chicken, please, and wonton soup.";
        let vectors: [(usize, &[u8]); 3] = [
            (17, b"\xc6\x35\x35\x68\xf2\xbf\x8c\xb4\xd8\xa5\x80\x36\x2d\xa7\xff\x7f\x97"),
            (
                31,
                b"\xfc\x00\x78\x3e\x0e\xfd\xb2\xc1\xd4\x45\xd4\xc8\xef\xf7\xed\x22\x97\x68\x72\x68\xd6\xec\xcc\xc0\xc0\x7b\x25\xe2\x5e\xcf\xe5",
            ),
            (
                32,
                b"\x39\x31\x25\x23\xa7\x86\x62\xd5\xbe\x7f\xcb\xcc\x98\xeb\xf5\xa8\x97\x68\x72\x68\xd6\xec\xcc\xc0\xc0\x7b\x25\xe2\x5e\xcf\xe5\x84",
            ),
        ];
        for (len, expected) in vectors {
            let mut message = text[..len].to_vec();
            assert!(key.encrypt(&mut message));
            assert_eq!(message, expected, "{len} bytes");
            assert!(key.decrypt(&mut message));
            assert_eq!(message, &text[..len]);
        }
    }

    #[test]
    fn less_than_a_block_is_rejected() {
        let key = AesKey::new(&[7; 32]).unwrap();
        assert!(!key.encrypt(&mut [0; 15]) && !key.decrypt(&mut [0; 15]));
        assert!(AesKey::new(&[7; 24]).is_none());
    }

    proptest! {
        #[test]
        fn every_length_round_trips(message in proptest::collection::vec(any::<u8>(), 16..600), long in any::<bool>()) {
            let key = AesKey::new(&[9; 32][..if long { 32 } else { 16 }]).unwrap();
            let mut bytes = message.clone();
            prop_assert!(key.encrypt(&mut bytes));
            prop_assert!(key.decrypt(&mut bytes));
            prop_assert_eq!(bytes, message);
        }
    }
}
