//! Encryption of SMB2 messages after a transform header (MS-SMB2 3.1.4.3).

use std::sync::atomic::{AtomicU64, Ordering};

use aes::{Aes128, Aes256};
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ccm::aead::generic_array::GenericArray;
use ccm::consts::{U11, U16};
use ccm::{AeadInPlace, Ccm, KeyInit};

use super::{Cipher, CryptoError};
use crate::wire::transform::{AUTHENTICATED, LEN};

const SIGNATURE: std::ops::Range<usize> = 4..20;
const NONCE: std::ops::Range<usize> = 20..36;
type Tag = [u8; 16];

/// A key that encrypts the messages of one direction, or decrypts them.
pub struct SealingKey {
    cipher: Cipher,
    keyed: Keyed,
    /// The next nonce. Each session has new keys, so that counting from zero never repeats a nonce.
    sealed: AtomicU64,
}

enum Keyed {
    Gcm(Box<LessSafeKey>),
    Ccm128(Box<Ccm<Aes128, U16, U11>>),
    Ccm256(Box<Ccm<Aes256, U16, U11>>),
}

impl SealingKey {
    /// A key for `cipher`, of [`Cipher::key_len`] bytes.
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, CryptoError> {
        let invalid = CryptoError::KeyLength { algorithm: cipher.name(), len: key.len() };
        let gcm = |algorithm| {
            let key = UnboundKey::new(algorithm, key).map_err(|_| invalid)?;
            Ok(Keyed::Gcm(Box::new(LessSafeKey::new(key))))
        };
        let keyed = match cipher {
            Cipher::Aes128Gcm => gcm(&AES_128_GCM)?,
            Cipher::Aes256Gcm => gcm(&AES_256_GCM)?,
            Cipher::Aes128Ccm => Keyed::Ccm128(Box::new(Ccm::new_from_slice(key).map_err(|_| invalid)?)),
            Cipher::Aes256Ccm => Keyed::Ccm256(Box::new(Ccm::new_from_slice(key).map_err(|_| invalid)?)),
        };
        Ok(Self { cipher, keyed, sealed: AtomicU64::new(0) })
    }

    /// Encrypts `message` in place and adds nonce and tag to its transform header, which is otherwise complete.
    ///
    /// A message above the cipher's limit (4 GiB and more) becomes zeros, so that it is never sent in plain text.
    pub fn seal(&self, header: &mut [u8; LEN], message: &mut [u8]) {
        let count = self.sealed.fetch_add(1, Ordering::Relaxed);
        header[NONCE].fill(0);
        header[NONCE.start..NONCE.start + 8].copy_from_slice(&count.to_le_bytes());
        if let Some(tag) = self.encrypt(header, message) {
            header[SIGNATURE].copy_from_slice(&tag);
        } else {
            header[SIGNATURE].fill(0);
            message.fill(0);
        }
    }

    /// Decrypts `message` in place if it and its header are authentic.
    ///
    /// On an error the message's content is unspecified.
    pub fn open(&self, header: &[u8; LEN], message: &mut [u8]) -> Result<(), CryptoError> {
        let len = message.len();
        self.decrypt(header, message).ok_or(CryptoError::NotAuthentic { algorithm: self.cipher.name(), len })
    }

    /// Decrypts the head of a message whose rest is missing, in place; false if the cipher fails.
    ///
    /// Nothing authenticates the result: whoever changed a bit of the encrypted message has changed the same bit of it. It
    /// serves to read captures, with a key that has opened a whole message of the same direction; a session must never use it.
    pub fn decrypt_head(&self, header: &[u8; LEN], head: &mut [u8]) -> bool {
        // Both modes add a key stream that depends on the nonce alone (NIST SP 800-38C 6.2, SP 800-38D 7.2): to add it once
        // more removes it. The tag of this is that of no message.
        self.encrypt(header, head).is_some()
    }

    fn nonce<'a>(&self, header: &'a [u8; LEN]) -> &'a [u8] {
        &header[NONCE.start..NONCE.start + self.cipher.nonce_len()]
    }

    fn encrypt(&self, header: &[u8; LEN], message: &mut [u8]) -> Option<Tag> {
        let nonce = self.nonce(header);
        let aad = &header[AUTHENTICATED];
        match &self.keyed {
            Keyed::Gcm(key) => {
                let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), message).ok()?;
                tag.as_ref().first_chunk().copied()
            }
            Keyed::Ccm128(key) => key
                .encrypt_in_place_detached(GenericArray::from_slice(nonce), aad, message)
                .ok()
                .map(Tag::from),
            Keyed::Ccm256(key) => key
                .encrypt_in_place_detached(GenericArray::from_slice(nonce), aad, message)
                .ok()
                .map(Tag::from),
        }
    }

    fn decrypt(&self, header: &[u8; LEN], message: &mut [u8]) -> Option<()> {
        let nonce = self.nonce(header);
        let aad = &header[AUTHENTICATED];
        let tag = &header[SIGNATURE];
        match &self.keyed {
            Keyed::Gcm(key) => {
                let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
                key.open_in_place_separate_tag(nonce, Aad::from(aad), tag, message).ok().map(drop)
            }
            Keyed::Ccm128(key) => {
                let nonce = GenericArray::from_slice(nonce);
                let tag = GenericArray::from_slice(tag);
                key.decrypt_in_place_detached(nonce, aad, message, tag).ok()
            }
            Keyed::Ccm256(key) => {
                let nonce = GenericArray::from_slice(nonce);
                let tag = GenericArray::from_slice(tag);
                key.decrypt_in_place_detached(nonce, aad, message, tag).ok()
            }
        }
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealingKey({}, ..)", self.cipher.name())
    }
}
