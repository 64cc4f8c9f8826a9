//! Encrypted messages (MS-SMB2 2.2.41).

use std::net::IpAddr;

use sharebench_smb::wire::transform;

use super::bytes::{long, short, word};
use crate::input::keys::{Derivation, Keyring, Sealed};
use crate::input::protocols::{Message, Side};

/// Bytes of a transform header.
pub(super) const HEADER_BYTES: usize = transform::LEN;
/// `Flags`, or `EncryptionAlgorithm` of dialects 3.0 and 3.0.2: the message is encrypted.
const ENCRYPTED: u16 = 1;

/// Whether an encrypted message begins like this. Its header does not show who sends it.
pub(crate) fn is_encrypted(head: &[u8]) -> bool {
    head.starts_with(&transform::PROTOCOL_ID)
        && short(head, 40) == Some(0)
        && short(head, 42) == Some(ENCRYPTED)
        && head.len() >= HEADER_BYTES
}

/// Who sends an encrypted message, by the key that opens it. `addresses` are those of the sender and the receiver.
pub(crate) fn sender_of_encrypted(
    head: &[u8],
    is_whole: bool,
    addresses: [IpAddr; 2],
    keyring: &mut Keyring,
) -> Option<Side> {
    let sealed = sealed(head, is_whole)?;
    keyring.smb();
    keyring.sender(&sealed, addresses)
}

/// Decrypts a message as far as it is in the input; none if no key fits.
pub(super) fn decrypt(
    message: &Message<'_>,
    server: IpAddr,
    derivation: &Derivation,
    keyring: &mut Keyring,
) -> Option<Vec<u8>> {
    let is_whole = message.head.len() == message.len;
    let original = word(message.head, 36)? as usize;
    if message.len.checked_sub(HEADER_BYTES) != Some(original) || !is_encrypted(message.head) {
        return None;
    }
    keyring.decrypt(&sealed(message.head, is_whole)?, message.side, server, derivation)
}

fn sealed(head: &[u8], is_whole: bool) -> Option<Sealed<'_>> {
    let (header, content) = head.split_first_chunk()?;
    Some(Sealed { session: long(head, 44)?, header, content, is_whole })
}
