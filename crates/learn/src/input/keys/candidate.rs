//! A key of the file with a cipher that it may be for.

use sharebench_smb::crypto::{Cipher, SealingKey, SessionKeys};
use sharebench_smb::wire::transform;

use super::file::SessionKey;
use crate::input::message::Side;

/// The dialect whose keys need no log-on to be derived; 3.0.2 derives the same.
const DIALECT_3_0: u16 = 0x0300;
const DIALECT_3_1_1: u16 = 0x0311;

/// What is known of the derivation of a session's keys (MS-SMB2 3.1.4.2). Everything is unknown where the log-on is not in the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Derivation {
    pub(crate) dialect: Option<u16>,
    pub(crate) cipher: Option<Cipher>,
    /// The preauthentication hash of the log-on, if all of it is in the input.
    pub(crate) preauth: Option<[u8; 64]>,
}

/// An encrypted message, as far as it is in the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sealed<'a> {
    pub(crate) session: u64,
    pub(crate) header: &'a [u8; transform::LEN],
    /// What follows the header.
    pub(crate) content: &'a [u8],
    pub(crate) is_whole: bool,
}

/// Keys that may decrypt the messages of a session.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Index of the line in the table.
    pub(super) key: usize,
    to_client: Option<SealingKey>,
    to_server: Option<SealingKey>,
}

impl Candidate {
    /// The content of a whole message that its tag authenticates.
    pub(super) fn open(&self, sealed: &Sealed<'_>, side: Side) -> Option<Vec<u8>> {
        let mut content = sealed.content.to_vec();
        self.key_of(side)?.open(sealed.header, &mut content).ok()?;
        Some(content)
    }

    /// The content of a message that is not whole.
    pub(super) fn head(&self, sealed: &Sealed<'_>, side: Side) -> Option<Vec<u8>> {
        let mut content = sealed.content.to_vec();
        self.key_of(side)?.decrypt_head(sealed.header, &mut content).then_some(content)
    }

    const fn key_of(&self, sender: Side) -> Option<&SealingKey> {
        match sender {
            Side::Client => self.to_server.as_ref(),
            Side::Server => self.to_client.as_ref(),
        }
    }
}

/// Adds the candidates of a line. Where dialect and cipher are unknown, they are those that the lengths of the keys allow.
pub(super) fn add_candidates(
    index: usize,
    key: &SessionKey,
    derivation: &Derivation,
    into: &mut Vec<Candidate>,
) {
    for cipher in Cipher::ALL {
        if derivation.cipher.is_some_and(|known| known != cipher) {
            continue;
        }
        let derived = derived(key, cipher, derivation);
        let sealing = |stated: &Option<super::file::Key>, derived: Option<&Vec<u8>>| match stated {
            Some(stated) => SealingKey::new(cipher, &stated.expose()).ok(),
            None => SealingKey::new(cipher, derived?).ok(),
        };
        let to_client = sealing(&key.to_client, derived.as_ref().map(|keys| &keys.to_client));
        let to_server = sealing(&key.to_server, derived.as_ref().map(|keys| &keys.to_server));
        if to_client.is_some() || to_server.is_some() {
            into.push(Candidate { key: index, to_client, to_server });
        }
    }
}

/// The keys that a session key gives.
fn derived(key: &SessionKey, cipher: Cipher, derivation: &Derivation) -> Option<SessionKeys> {
    let base = key.base.as_ref()?;
    let preauth = derivation.preauth.as_ref();
    match derivation.dialect {
        Some(DIALECT_3_1_1) => {
            Some(SessionKeys::derive(DIALECT_3_1_1, &base.expose(), Some(preauth?), Some(cipher)))
        }
        // Without the log-on, keys of 3.1.1 cannot be derived.
        None if cipher != Cipher::Aes128Ccm => None,
        dialect => {
            Some(SessionKeys::derive(dialect.unwrap_or(DIALECT_3_0), &base.expose(), None, Some(cipher)))
        }
    }
}
