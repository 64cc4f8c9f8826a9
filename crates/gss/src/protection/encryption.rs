//! Encryption types of Kerberos that this crate implements.

use aws_lc_rs::hmac;

use super::derivation::{Purpose, dk, kdf_hmac_sha2};

/// An encryption type: AES in CTS mode with an HMAC (RFC 3962, RFC 8009).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// `aes128-cts-hmac-sha1-96`
    Aes128Sha1,
    /// `aes256-cts-hmac-sha1-96`
    Aes256Sha1,
    /// `aes128-cts-hmac-sha256-128`
    Aes128Sha256,
    /// `aes256-cts-hmac-sha384-192`
    Aes256Sha384,
}

impl Encryption {
    /// Every type.
    pub const ALL: [Self; 4] = [Self::Aes128Sha1, Self::Aes256Sha1, Self::Aes128Sha256, Self::Aes256Sha384];

    /// The type with this number (IANA, "Kerberos Encryption Type Numbers").
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|encryption| encryption.number() == number)
    }

    /// The number (IANA, "Kerberos Encryption Type Numbers").
    pub const fn number(self) -> u32 {
        match self {
            Self::Aes128Sha1 => 17,
            Self::Aes256Sha1 => 18,
            Self::Aes128Sha256 => 19,
            Self::Aes256Sha384 => 20,
        }
    }

    /// The name in krb5.conf.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Sha1 => "aes128-cts-hmac-sha1-96",
            Self::Aes256Sha1 => "aes256-cts-hmac-sha1-96",
            Self::Aes128Sha256 => "aes128-cts-hmac-sha256-128",
            Self::Aes256Sha384 => "aes256-cts-hmac-sha384-192",
        }
    }

    /// Bytes of a key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes128Sha256 => 16,
            Self::Aes256Sha1 | Self::Aes256Sha384 => 32,
        }
    }

    /// Bytes of a signature.
    pub const fn mac_len(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes256Sha1 => 12,
            Self::Aes128Sha256 => 16,
            Self::Aes256Sha384 => 24,
        }
    }

    /// True if the signature covers the ciphertext instead of the plaintext (RFC 8009 5).
    pub(super) const fn signs_ciphertext(self) -> bool {
        matches!(self, Self::Aes128Sha256 | Self::Aes256Sha384)
    }

    pub(super) fn hash(self) -> hmac::Algorithm {
        match self {
            Self::Aes128Sha1 | Self::Aes256Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Aes128Sha256 => hmac::HMAC_SHA256,
            Self::Aes256Sha384 => hmac::HMAC_SHA384,
        }
    }

    /// The key for one purpose and usage; none if `base` has another length than [`Self::key_len`].
    pub(super) fn derive(self, base: &[u8], usage: u32, purpose: Purpose) -> Option<Vec<u8>> {
        if base.len() != self.key_len() {
            return None;
        }
        if !self.signs_ciphertext() {
            return dk(base, usage, purpose);
        }
        // Keys of signatures are as long as the signatures (RFC 8009 3).
        let len = if purpose == Purpose::Encryption { self.key_len() } else { self.mac_len() };
        Some(kdf_hmac_sha2(base, self.hash(), usage, purpose, len))
    }
}
