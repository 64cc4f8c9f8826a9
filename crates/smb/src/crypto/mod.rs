//! Signing, encryption, key derivation and the preauthentication hash of SMB 2.0.2 to 3.1.1 (MS-SMB2 3.1.4).

mod algorithm;
mod keys;
mod preauth;
mod sealing;
mod signing;

#[cfg(test)]
mod tests;

pub use algorithm::{Cipher, SigningAlgorithm};
pub use keys::SessionKeys;
pub use preauth::PreauthHash;
pub use sealing::SealingKey;
pub use signing::SigningKey;

/// Why a key or a message is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CryptoError {
    /// The key has the wrong length.
    #[error("{algorithm}: a key of {len} bytes has the wrong length")]
    KeyLength {
        /// Algorithm of the key.
        algorithm: &'static str,
        /// Its length in bytes.
        len: usize,
    },
    /// The message was changed, or encrypted with another key.
    #[error("{algorithm}: the message of {len} bytes is not authentic")]
    NotAuthentic {
        /// Cipher of the message.
        algorithm: &'static str,
        /// Its length.
        len: usize,
    },
}

/// Random bytes. They are zeros if the system has no randomness, which reveals nothing: the GUID and the salt are no
/// secrets.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        bytes.fill(0);
    }
    bytes
}
