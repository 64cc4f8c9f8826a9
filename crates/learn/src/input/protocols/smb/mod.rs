//! Connections of SMB, whose negotiation may be one of SMB 1 for all versions.

pub(super) mod codes;
pub(super) mod shares;

use super::decoder::Decoder;
use super::smb1::Smb1Decoder;
use super::smb2::Smb2Decoder;
use crate::input::message::Message;
use crate::input::recorder::Recording;

/// Decodes SMB 1 from the first message on, until a message of SMB 2 follows the negotiation (MS-SMB2 3.3.5.3.1).
pub(super) enum SmbDecoder {
    One(Box<Smb1Decoder>),
    Two(Box<Smb2Decoder>),
}

impl SmbDecoder {
    /// For a connection that begins with SMB 1.
    pub(super) fn new() -> Self {
        Self::One(Box::new(Smb1Decoder::new()))
    }
}

impl Decoder for SmbDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        if let Self::One(decoder) = self
            && decoder.is_undecided()
            && matches!(message.head, [0xFC..=0xFE, b'S', b'M', b'B', ..])
        {
            *self = Self::Two(Box::new(Smb2Decoder::new()));
        }
        match self {
            Self::One(decoder) => decoder.message(message, recorder),
            Self::Two(decoder) => decoder.message(message, recorder),
        }
    }

    fn waiting(&self) -> usize {
        match self {
            Self::One(decoder) => decoder.waiting(),
            Self::Two(decoder) => decoder.waiting(),
        }
    }

    fn end(&mut self, recorder: &mut Recording<'_>) {
        match self {
            Self::One(decoder) => decoder.end(recorder),
            Self::Two(decoder) => decoder.end(recorder),
        }
    }
}
