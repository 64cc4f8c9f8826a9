//! The messages of a compound of SMB 2 and 3 (MS-SMB2 2.2.1, 3.2.4.1.4), as far as they were captured.

use std::borrow::Cow;

use sharebench_smb::wire::header::{Header, PROTOCOL_ID, SIGNATURE, flags};
use sharebench_smb::wire::{HEADER_LEN, Reader};

use crate::input::message::{HEAD_BYTES, Side};

/// Where a header has its flags.
const FLAGS_AT: usize = 16;

/// Who sends a message that begins like this.
pub(in crate::input::protocols) fn sender(head: &[u8]) -> Option<Side> {
    let flags: u32 = Reader::new(head.get(FLAGS_AT..)?, "flags").get().ok()?;
    let side = if flags & flags::RESPONSE == 0 { Side::Client } else { Side::Server };
    head.starts_with(&PROTOCOL_ID).then_some(side)
}

/// A message of a compound. What the capture cut of it is zeros, so that the decoders of whole messages can be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    /// The message, up to the first [`HEAD_BYTES`] of its compound.
    pub(super) message: &'a [u8],
    /// How many of these bytes were captured.
    captured: usize,
}

impl<'a> Part<'a> {
    /// Its header, whose signature may have been cut.
    fn header(&self) -> Option<Header> {
        Header::decode(self.message).ok().filter(|_| self.captured >= SIGNATURE.start)
    }

    /// True if this many bytes after the header were captured.
    pub(super) const fn has(&self, body_bytes: usize) -> bool {
        self.captured >= HEADER_LEN + body_bytes
    }

    /// The bytes that were captured.
    pub(super) fn captured(&self) -> &'a [u8] {
        self.message.get(..self.captured).unwrap_or(self.message)
    }

    /// How many bytes from this one of the body on were captured.
    pub(super) const fn captured_from(&self, body_at: usize) -> usize {
        self.captured.saturating_sub(HEADER_LEN + body_at)
    }

    /// A text of the message; none if the capture cut it, so that it ends with zeros.
    pub(super) fn uncut(&self, text: String) -> Option<String> {
        let is_cut = self.captured < self.message.len() && text.contains('\0');
        (!is_cut).then_some(text)
    }
}

/// Gives every message of a compound to `each`; false if one is no message, or is not in the bytes.
pub(super) fn messages(head: &[u8], len: usize, mut each: impl FnMut(Header, Part<'_>)) -> bool {
    let mut whole = Cow::Borrowed(head);
    let mut captured = head.len();
    if captured < len.min(HEAD_BYTES) {
        // Half of a character of a name is none of it.
        captured &= !1;
        whole.to_mut().truncate(captured);
        whole.to_mut().resize(len.min(HEAD_BYTES), 0);
    }
    let mut rest = len;
    let mut part = Part { message: &whole, captured };
    loop {
        let Some(header) = part.header() else { return false };
        let next = header.next as usize;
        if next == 0 {
            each(header, part);
            return true;
        }
        // A next message within this header would make the walk endless.
        if next < HEADER_LEN || next > rest {
            return false;
        }
        each(header, Part { message: part.message.get(..next).unwrap_or(part.message), ..part });
        rest -= next;
        let Some(following) = part.message.get(next..) else { return false };
        part = Part { message: following, captured: part.captured.saturating_sub(next) };
    }
}
