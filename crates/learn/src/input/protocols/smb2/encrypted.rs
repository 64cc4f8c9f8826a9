//! Encrypted messages (MS-SMB2 2.2.41).

use std::net::IpAddr;

use sharebench_smb::wire::transform::{self, TransformHeader};

use crate::input::keys::{Derivation, Keyring, Sealed};
use crate::input::message::{Message, Side};

/// Bytes of a transform header.
pub(super) const HEADER_BYTES: usize = transform::LEN;
/// `Flags`, or `EncryptionAlgorithm` of dialects 3.0 and 3.0.2: the message is encrypted.
const ENCRYPTED: u16 = 1;
/// Zeros in a message that is one.
const RESERVED: std::ops::Range<usize> = 40..42;

fn header_of(head: &[u8]) -> Option<TransformHeader> {
    let header = TransformHeader::decode(head).ok()?;
    (header.flags == ENCRYPTED && head.get(RESERVED) == Some(&[0; 2])).then_some(header)
}

/// Whether an encrypted message begins like this. Its header does not show who sends it.
pub(crate) fn is_encrypted(head: &[u8]) -> bool {
    header_of(head).is_some()
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
    let original = header_of(message.head)?.original_len as usize;
    if message.len.checked_sub(HEADER_BYTES) != Some(original) {
        return None;
    }
    keyring.decrypt(&sealed(message.head, is_whole)?, message.side, server, derivation)
}

fn sealed(head: &[u8], is_whole: bool) -> Option<Sealed<'_>> {
    let session = TransformHeader::decode(head).ok()?.session_id;
    let (header, content) = head.split_first_chunk()?;
    Some(Sealed { session, header, content, is_whole })
}
