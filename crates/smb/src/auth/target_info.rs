//! The server's list of attributes in a challenge (`AV_PAIR`, MS-NLMP 2.2.2.1).

use super::AuthError;
use crate::wire::{Field, Reader, WireError};

const END: u16 = 0;
const FLAGS: u16 = 6;
const TIMESTAMP: u16 = 7;
/// The AUTHENTICATE message carries a MIC.
const HAS_MIC: u32 = 2;
/// Windows sends some hundred bytes; what goes back must fit into fields of 16 bits with room to spare.
const MAX_LEN: usize = 0x4000;

/// The attributes as the client sends them back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetInfo {
    /// All pairs with their end; they announce a MIC when the server gave its time.
    pub(super) bytes: Vec<u8>,
    /// The server's time in 100 ns since 1601; the client then must send a MIC.
    pub(super) time: Option<u64>,
}

impl TargetInfo {
    /// Reads the attributes of a challenge; none at all are as good as an empty list.
    pub(super) fn parse(pairs: &[u8]) -> Result<Self, AuthError> {
        let malformed = AuthError::Malformed { what: "NTLM target info", len: pairs.len() };
        if pairs.len() > MAX_LEN {
            return Err(malformed);
        }
        Self::walk(pairs).map_err(|_| malformed)
    }

    fn walk(pairs: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(pairs, "target info");
        let (mut bytes, mut time, mut flags) = (Vec::with_capacity(pairs.len() + 12), None, 0);
        while !reader.rest().is_empty() {
            let (id, len): (u16, u16) = (reader.get()?, reader.get()?);
            let value = reader.take(usize::from(len))?;
            match id {
                END => break,
                FLAGS => flags = Reader::new(value, "MsvAvFlags").get()?,
                _ => put_pair(id, value, &mut bytes),
            }
            if id == TIMESTAMP {
                time = Some(Reader::new(value, "MsvAvTimestamp").get()?);
            }
        }
        if time.is_some() {
            flags |= HAS_MIC;
        }
        if flags != 0 {
            put_pair(FLAGS, &flags.to_le_bytes(), &mut bytes);
        }
        put_pair(END, &[], &mut bytes);
        Ok(Self { bytes, time })
    }
}

fn put_pair(id: u16, value: &[u8], out: &mut Vec<u8>) {
    id.put(out);
    (value.len() as u16).put(out);
    out.extend_from_slice(value);
}
