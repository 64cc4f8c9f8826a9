//! The server's list of attributes in a challenge (`AV_PAIR`, MS-NLMP 2.2.2.1).

use super::AuthError;
use crate::wire::{Field, Reader, WireError, utf16};

const END: u16 = 0;
const NETBIOS_COMPUTER: u16 = 1;
const NETBIOS_DOMAIN: u16 = 2;
const DNS_COMPUTER: u16 = 3;
const DNS_DOMAIN: u16 = 4;
const FLAGS: u16 = 6;
const TIMESTAMP: u16 = 7;
/// The AUTHENTICATE message carries a MIC.
const HAS_MIC: u32 = 2;
/// Limit of the list. Windows sends a few hundred bytes; the response that repeats them must fit into 16-bit lengths.
const MAX_LEN: usize = 0x4000;

/// The attributes as the client returns them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetInfo {
    /// All pairs with their terminator. They announce a MIC if the server sent its time.
    pub(super) bytes: Vec<u8>,
    /// The server's time in 100 ns since 1601; the client then must send a MIC.
    pub(super) time: Option<u64>,
}

impl TargetInfo {
    /// Decodes the attributes of a challenge. A missing list is an empty one.
    pub(super) fn parse(pairs: &[u8]) -> Result<Self, AuthError> {
        let malformed = AuthError::Malformed { what: "NTLM target info", len: pairs.len() };
        if pairs.len() > MAX_LEN {
            return Err(malformed);
        }
        Self::walk(pairs).map_err(|_| malformed)
    }

    fn walk(pairs: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(pairs, "target info");
        let mut bytes = Vec::with_capacity(pairs.len() + 12);
        let mut time = None;
        let mut flags = 0;
        while !reader.rest().is_empty() {
            let id: u16 = reader.get()?;
            let len: u16 = reader.get()?;
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

/// The attributes that a server with this name sends; its time obliges clients to send a MIC.
pub(super) fn server_pairs(name: &str, time: u64) -> Vec<u8> {
    let name = utf16(name);
    let mut pairs = Vec::new();
    for id in [NETBIOS_DOMAIN, NETBIOS_COMPUTER, DNS_DOMAIN, DNS_COMPUTER] {
        put_pair(id, &name, &mut pairs);
    }
    put_pair(TIMESTAMP, &time.to_le_bytes(), &mut pairs);
    put_pair(END, &[], &mut pairs);
    pairs
}

/// True if a client's attributes announce a MIC. Malformed attributes do not.
pub(super) fn announces_mic(pairs: &[u8]) -> bool {
    let flags = || -> Result<u32, WireError> {
        let mut reader = Reader::new(pairs, "target info");
        loop {
            let id: u16 = reader.get()?;
            let len: u16 = reader.get()?;
            let value = reader.take(usize::from(len))?;
            match id {
                END => return Ok(0),
                FLAGS => return Reader::new(value, "MsvAvFlags").get(),
                _ => {}
            }
        }
    };
    flags().is_ok_and(|flags| flags & HAS_MIC != 0)
}

fn put_pair(id: u16, value: &[u8], out: &mut Vec<u8>) {
    id.put(out);
    (value.len() as u16).put(out);
    out.extend_from_slice(value);
}
