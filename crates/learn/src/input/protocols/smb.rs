//! Connections of SMB, whose negotiation may be one of SMB 1 for all versions.

use super::smb1::Smb1Decoder;
use super::smb2::Smb2Decoder;
use super::{Decoder, Ends, Message};
use crate::input::recorder::Recorder;
use crate::operation::Access;

/// Rights to change what a file holds: `FILE_WRITE_DATA`, `FILE_APPEND_DATA`, `GENERIC_ALL`, `GENERIC_WRITE`.
const WRITES: u32 = 0x0000_0002 | 0x0000_0004 | 0x1000_0000 | 0x4000_0000;
/// Rights to read, run or remove it: `FILE_READ_DATA`, `FILE_EXECUTE`, `DELETE`, `GENERIC_EXECUTE`, `GENERIC_READ`, and
/// `MAXIMUM_ALLOWED`, which may include them.
const READS: u32 = 0x0000_0001 | 0x0000_0020 | 0x0001_0000 | 0x2000_0000 | 0x8000_0000 | 0x0200_0000;

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
