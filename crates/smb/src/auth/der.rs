//! The subset of DER (X.690) that SPNEGO needs.

use super::AuthError;

/// Reads the elements of a DER value, never past its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Der<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Der<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    pub(super) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// The content of the next element, which must have this tag; `what` names it in errors.
    pub(super) fn expect(&mut self, tag: u8, what: &'static str) -> Result<&'a [u8], AuthError> {
        match self.next(what)? {
            (found, content) if found == tag => Ok(content),
            _ => Err(AuthError::Malformed { what, len: self.len }),
        }
    }

    /// Tag and content of the next element.
    pub(super) fn next(&mut self, what: &'static str) -> Result<(u8, &'a [u8]), AuthError> {
        self.element().ok_or(AuthError::Malformed { what, len: self.len })
    }

    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.rest.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            // A length of four bytes exceeds every token; 0x80 alone is the indefinite form of BER.
            let count = usize::from(first & 0x7F);
            let (bytes, rest) = rest.split_at_checked(count)?;
            if count == 0 || count > 4 {
                return None;
            }
            (bytes.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some((tag, content))
    }
}

/// Encodes one element from pieces that are shorter than 16 MiB together.
pub(super) fn element(tag: u8, pieces: &[&[u8]]) -> Vec<u8> {
    let len: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut out = Vec::with_capacity(len + 5);
    out.push(tag);
    let [_, high, middle, low] = (len as u32).to_be_bytes();
    match len {
        0..0x80 => out.push(low),
        0x80..0x100 => out.extend([0x81, low]),
        0x100..0x1_0000 => out.extend([0x82, middle, low]),
        _ => out.extend([0x83, high, middle, low]),
    }
    for piece in pieces {
        out.extend_from_slice(piece);
    }
    out
}
