//! Headers of SMB 2 and 3 (MS-SMB2 2.2.1), and the messages of a compound.

use super::bytes::{long, short, word};
use crate::input::protocols::Side;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 64;
const RESPONSE: u32 = 1;
const ASYNC: u32 = 2;
const RELATED: u32 = 4;

/// A header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) command: u16,
    pub(super) status: u32,
    pub(super) related: bool,
    pub(super) is_async: bool,
    pub(super) message: u64,
    /// 0 in a message of an asynchronous request.
    pub(super) tree: u32,
    pub(super) session: u64,
    /// Where the next message of the compound begins.
    next: usize,
}

/// Who sends a message that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    match head {
        [0xFE, b'S', b'M', b'B', ..] => {
            Some(if word(head, 16)? & RESPONSE == 0 { Side::Client } else { Side::Server })
        }
        _ => None,
    }
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(b"\xFESMB") {
            return None;
        }
        let flags = word(bytes, 16)?;
        let is_async = flags & ASYNC != 0;
        Some(Self {
            command: short(bytes, 12)?,
            status: word(bytes, 8)?,
            related: flags & RELATED != 0,
            is_async,
            message: long(bytes, 24)?,
            tree: if is_async { 0 } else { word(bytes, 36)? },
            session: long(bytes, 40)?,
            next: word(bytes, 20)? as usize,
        })
    }
}

/// Gives every message of a compound to `each`; false if one is no message, or is not in the bytes.
pub(super) fn messages(mut bytes: &[u8], len: usize, mut each: impl FnMut(Header, &[u8])) -> bool {
    let mut rest = len;
    loop {
        let Some(header) = Header::decode(bytes) else { return false };
        if header.next == 0 {
            each(header, bytes);
            return true;
        }
        // A next message within this header would make the walk endless.
        if header.next < HEADER_BYTES || header.next > rest {
            return false;
        }
        each(header, bytes.get(..header.next).unwrap_or(bytes));
        rest -= header.next;
        let Some(next) = bytes.get(header.next..) else { return false };
        bytes = next;
    }
}
