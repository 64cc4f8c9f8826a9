//! The keys of both directions of a context.

use aws_lc_rs::hmac;

use super::cts::AesKey;
use super::derivation::Purpose;
use super::encryption::Encryption;

/// Which side of a context this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client.
    Initiator,
    /// The server.
    Acceptor,
}

impl Role {
    pub(super) const fn peer(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }
}

/// Key usage numbers of the tokens that one side sends (RFC 4121 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUsages {
    /// `KG-USAGE-*-SEAL`
    pub seal: u32,
    /// `KG-USAGE-*-SIGN`
    pub sign: u32,
}

impl KeyUsages {
    /// The numbers of a sender.
    pub const fn of_sender(sender: Role) -> Self {
        match sender {
            Role::Acceptor => Self { seal: 22, sign: 23 },
            Role::Initiator => Self { seal: 24, sign: 25 },
        }
    }
}

/// The keys of one direction.
pub(super) struct DirectionKeys {
    pub(super) checksum: hmac::Key,
    pub(super) integrity: hmac::Key,
    pub(super) cipher: AesKey,
}

impl DirectionKeys {
    fn derive(encryption: Encryption, base: &[u8], sender: Role) -> Option<Self> {
        let usages = KeyUsages::of_sender(sender);
        let mut checksum = encryption.derive(base, usages.sign, Purpose::Checksum)?;
        let mut integrity = encryption.derive(base, usages.seal, Purpose::Integrity)?;
        let mut cipher = encryption.derive(base, usages.seal, Purpose::Encryption)?;
        let keys = Self {
            checksum: hmac::Key::new(encryption.hash(), &checksum),
            integrity: hmac::Key::new(encryption.hash(), &integrity),
            cipher: AesKey::new(&cipher)?,
        };
        for key in [&mut checksum, &mut integrity, &mut cipher] {
            key.fill(0);
            // Keeps the compiler from removing the fill as a dead store.
            std::hint::black_box(&*key);
        }
        Some(keys)
    }
}

/// The keys that a context's messages are signed and encrypted with.
pub struct TokenKeys {
    pub(super) encryption: Encryption,
    pub(super) role: Role,
    /// The key is the acceptor's subkey, which every token states (RFC 4121 4.2.2).
    pub(super) acceptor_subkey: bool,
    pub(super) first_sequence: u64,
    pub(super) sent: DirectionKeys,
    pub(super) received: DirectionKeys,
}

impl TokenKeys {
    /// Derives all keys from the key of a context; none if its length is wrong. `first_sequence` numbers the first token.
    pub fn new(
        encryption: Encryption,
        key: &[u8],
        role: Role,
        acceptor_subkey: bool,
        first_sequence: u64,
    ) -> Option<Self> {
        Some(Self {
            encryption,
            role,
            acceptor_subkey,
            first_sequence,
            sent: DirectionKeys::derive(encryption, key, role)?,
            received: DirectionKeys::derive(encryption, key, role.peer())?,
        })
    }
}

impl std::fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKeys({}, {:?})", self.encryption.name(), self.role)
    }
}
