//! The transform header of an encrypted message (MS-SMB2 2.2.41).

use super::{Field, Reader, WireError};

/// First bytes of an encrypted message.
pub const PROTOCOL_ID: [u8; 4] = [0xFD, b'S', b'M', b'B'];
/// Length of a transform header.
pub const LEN: usize = 52;
/// The part of the header that the cipher authenticates: from the nonce to its end.
pub const AUTHENTICATED: std::ops::Range<usize> = 20..LEN;

/// A transform header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransformHeader {
    /// Authentication tag.
    pub signature: [u8; 16],
    /// 11 bytes for CCM, 12 for GCM, then zeros.
    pub nonce: [u8; 16],
    /// Length of the message within.
    pub original_len: u32,
    /// 1: encrypted.
    pub flags: u16,
    /// Session whose keys were used.
    pub session_id: u64,
}

impl TransformHeader {
    /// Appends the 52 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        PROTOCOL_ID.put(out);
        self.signature.put(out);
        self.nonce.put(out);
        self.original_len.put(out);
        0u16.put(out);
        self.flags.put(out);
        self.session_id.put(out);
    }

    /// Writes the 52 bytes in place.
    pub fn write(&self, place: &mut [u8; LEN]) {
        place[..4].copy_from_slice(&PROTOCOL_ID);
        place[4..20].copy_from_slice(&self.signature);
        place[20..36].copy_from_slice(&self.nonce);
        place[36..40].copy_from_slice(&self.original_len.to_le_bytes());
        place[40..42].fill(0);
        place[42..44].copy_from_slice(&self.flags.to_le_bytes());
        place[44..].copy_from_slice(&self.session_id.to_le_bytes());
    }

    /// Reads the header of an encrypted frame.
    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(frame, "transform header");
        let protocol: [u8; 4] = reader.get()?;
        if protocol != PROTOCOL_ID {
            return Err(reader.bad("ProtocolId", u64::from(u32::from_le_bytes(protocol))));
        }
        let (signature, nonce, original_len) = (reader.get()?, reader.get()?, reader.get()?);
        let _reserved: u16 = reader.get()?;
        Ok(Self { signature, nonce, original_len, flags: reader.get()?, session_id: reader.get()? })
    }
}
