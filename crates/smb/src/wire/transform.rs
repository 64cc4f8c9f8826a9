//! The transform header of an encrypted message (MS-SMB2 2.2.41).

use super::{Field, Reader, WireError};

/// First bytes of an encrypted message.
pub const PROTOCOL_ID: [u8; 4] = [0xFD, b'S', b'M', b'B'];
/// Length of a transform header.
pub const LEN: usize = 52;
/// The part of the header that the cipher authenticates: from the nonce to the end.
pub const AUTHENTICATED: std::ops::Range<usize> = 20..LEN;

/// The transform header (MS-SMB2 2.2.41), which precedes an encrypted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransformHeader {
    /// Authentication tag.
    pub signature: [u8; 16],
    /// 11 bytes for CCM, 12 for GCM, then zeros.
    pub nonce: [u8; 16],
    /// Length of the encrypted message.
    pub original_len: u32,
    /// 1: encrypted.
    pub flags: u16,
    /// Session whose keys encrypted the message.
    pub session_id: u64,
}

impl TransformHeader {
    /// Encodes the header and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        PROTOCOL_ID.put(out);
        self.signature.put(out);
        self.nonce.put(out);
        self.original_len.put(out);
        0u16.put(out);
        self.flags.put(out);
        self.session_id.put(out);
    }

    /// Encodes the header in place.
    pub fn write(&self, place: &mut [u8; LEN]) {
        place[..4].copy_from_slice(&PROTOCOL_ID);
        place[4..20].copy_from_slice(&self.signature);
        place[20..36].copy_from_slice(&self.nonce);
        place[36..40].copy_from_slice(&self.original_len.to_le_bytes());
        place[40..42].fill(0);
        place[42..44].copy_from_slice(&self.flags.to_le_bytes());
        place[44..].copy_from_slice(&self.session_id.to_le_bytes());
    }

    /// Decodes the header of an encrypted frame.
    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(frame, "transform header");
        let protocol: [u8; 4] = reader.get()?;
        if protocol != PROTOCOL_ID {
            return Err(reader.bad("ProtocolId", u64::from(u32::from_le_bytes(protocol))));
        }
        let signature = reader.get()?;
        let nonce = reader.get()?;
        let original_len = reader.get()?;
        let _reserved: u16 = reader.get()?;
        Ok(Self { signature, nonce, original_len, flags: reader.get()?, session_id: reader.get()? })
    }
}
