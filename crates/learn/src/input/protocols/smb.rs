//! Connections of SMB, whose negotiation may be one of SMB 1 for all versions.

use super::smb1::Smb1Decoder;
use super::smb2::Smb2Decoder;
use super::{Decoder, Ends, Message};
use crate::input::recorder::Recorder;

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

    fn end(&mut self, recorder: &mut Recorder) {
        match self {
            Self::One(decoder, _) => decoder.end(recorder),
            Self::Two(decoder) => decoder.end(recorder),
        }
    }
}
