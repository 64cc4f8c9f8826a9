//! Signing, encryption, key derivation and the preauthentication hash of SMB 2.0.2 to 3.1.1 (MS-SMB2 3.1.4).

mod algorithm;
mod keys;
mod preauth;
mod sealing;
mod signing;

#[cfg(test)]
mod tests;

pub(crate) use algorithm::{Cipher, SigningAlgorithm};
pub(crate) use keys::SessionKeys;
pub(crate) use preauth::PreauthHash;
pub(crate) use sealing::SealingKey;
pub(crate) use signing::SigningKey;

/// Why a key or a message is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CryptoError {
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
