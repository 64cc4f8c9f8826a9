//! The algorithms that a connection can negotiate (MS-SMB2 2.2.3.1.2, 2.2.3.1.7).

/// How messages are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningAlgorithm {
    /// Dialects 2.0.2 and 2.1.
    HmacSha256,
    /// Dialects 3.x, unless another one is negotiated.
    AesCmac,
    /// Dialect 3.1.1, if both sides offer it.
    AesGmac,
}

impl SigningAlgorithm {
    /// The algorithm with this `SigningAlgorithmId`.
    pub fn from_id(id: u16) -> Option<Self> {
        [Self::HmacSha256, Self::AesCmac, Self::AesGmac].into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// `SigningAlgorithmId` on the wire.
    pub const fn id(self) -> u16 {
        match self {
            Self::HmacSha256 => 0,
            Self::AesCmac => 1,
            Self::AesGmac => 2,
        }
    }

    /// Name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HmacSha256 => "HMAC-SHA256",
            Self::AesCmac => "AES-CMAC",
            Self::AesGmac => "AES-GMAC",
        }
    }
}

/// How messages are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// The only one of dialects 3.0 and 3.0.2.
    Aes128Ccm,
    /// Since 3.1.1.
    Aes128Gcm,
    /// Since 3.1.1.
    Aes256Ccm,
    /// Since 3.1.1.
    Aes256Gcm,
}

impl Cipher {
    /// All ciphers, by id.
    pub const ALL: [Self; 4] = [Self::Aes128Ccm, Self::Aes128Gcm, Self::Aes256Ccm, Self::Aes256Gcm];

    /// The cipher with this id.
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|cipher| cipher.id() == id)
    }

    /// Id on the wire.
    pub const fn id(self) -> u16 {
        match self {
            Self::Aes128Ccm => 1,
            Self::Aes128Gcm => 2,
            Self::Aes256Ccm => 3,
            Self::Aes256Gcm => 4,
        }
    }

    /// Name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Ccm => "AES-128-CCM",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Ccm => "AES-256-CCM",
            Self::Aes256Gcm => "AES-256-GCM",
        }
    }

    /// Bytes of a key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes128Gcm => 16,
            Self::Aes256Ccm | Self::Aes256Gcm => 32,
        }
    }

    /// Bytes of the nonce field that the cipher uses (MS-SMB2 2.2.41).
    pub(super) const fn nonce_len(self) -> usize {
        match self {
            Self::Aes128Ccm | Self::Aes256Ccm => 11,
            Self::Aes128Gcm | Self::Aes256Gcm => 12,
        }
    }
}
