//! Connections of SMB, whose negotiation may be one of SMB 1 for all versions.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;

use super::smb1::Smb1Decoder;
use super::smb2::Smb2Decoder;
use super::{Decoder, Ends, Message};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Outcome};

/// Rights to change what a file holds.
const WRITES: u32 = access::WRITE_DATA | access::APPEND_DATA | access::GENERIC_ALL | access::GENERIC_WRITE;
/// Rights to read, run or remove it, and the maximum, which may include them.
const READS: u32 = access::READ_DATA
    | access::EXECUTE
    | access::DELETE
    | access::GENERIC_EXECUTE
    | access::GENERIC_READ
    | access::MAXIMUM_ALLOWED;

/// What an open is for, by the rights that it requests (MS-SMB2 2.2.13.1.1, MS-CIFS 2.2.4.64.1).
pub(super) const fn access_of(rights: u32) -> Access {
    if rights & WRITES != 0 {
        Access::Write
    } else if rights & READS != 0 {
        Access::Read
    } else {
        Access::Attributes
    }
}

/// How an operation with this status ended.
pub(super) const fn outcome_of(status: NtStatus) -> Outcome {
    match status {
        NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW | NtStatus::NO_MORE_FILES | NtStatus::END_OF_FILE => {
            Outcome::Done
        }
        NtStatus::NO_SUCH_FILE | NtStatus::OBJECT_NAME_NOT_FOUND | NtStatus::OBJECT_PATH_NOT_FOUND => {
            Outcome::NotFound
        }
        NtStatus(status) => Outcome::Failed(status),
    }
}

/// The last component of a name.
pub(super) fn last_component(name: &str) -> &str {
    name.rsplit('\\').next().unwrap_or(name)
}

/// The directory of a name within its share; empty for the root.
pub(super) fn directory(name: &str) -> &str {
    name.rsplit_once('\\').map_or("", |(directory, _)| directory)
}

/// What identifies a name in a share, without regard to the case of its letters of ASCII.
pub(super) fn path(share: &[u8], name: &str) -> Vec<u8> {
    [share, b"\\", name.to_ascii_lowercase().as_bytes()].concat()
}

/// What identifies a share, by its path: without the server, which clients call by several names.
pub(super) fn share(path: &str) -> Vec<u8> {
    last_component(path).to_ascii_lowercase().into()
}

/// Decodes SMB 1 from the first message on, until a message of SMB 2 follows the negotiation (MS-SMB2 3.3.5.3.1).
pub(super) enum SmbDecoder {
    One(Box<Smb1Decoder>, Ends),
    Two(Box<Smb2Decoder>),
}

impl SmbDecoder {
    /// For a connection that begins with SMB 1.
    pub(super) fn new(ends: Ends) -> Self {
        Self::One(Box::new(Smb1Decoder::new(ends)), ends)
    }
}

impl Decoder for SmbDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        if let Self::One(decoder, ends) = self
            && decoder.is_undecided()
            && matches!(message.head, [0xFC..=0xFE, b'S', b'M', b'B', ..])
        {
            *self = Self::Two(Box::new(Smb2Decoder::new(*ends)));
        }
        match self {
            Self::One(decoder, _) => decoder.message(message, recorder),
            Self::Two(decoder) => decoder.message(message, recorder),
        }
    }

    fn waiting(&self) -> usize {
        match self {
            Self::One(decoder, _) => decoder.waiting(),
            Self::Two(decoder) => decoder.waiting(),
        }
    }

    fn end(&mut self, recorder: &mut Recorder) {
        match self {
            Self::One(decoder, _) => decoder.end(recorder),
            Self::Two(decoder) => decoder.end(recorder),
        }
    }
}
