//! Record marking (RFC 5531, 11): fragments of a stream put together, within a limit.

use crate::xdr::Writer;

/// Bit that marks the last fragment of a record.
pub const LAST_FRAGMENT: u32 = 0x8000_0000;

/// Bytes of a fragment header.
pub const MARK_BYTES: usize = 4;

/// A fragment header taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the fragment.
    pub len: usize,
    /// True when the record ends with it.
    pub last: bool,
}

impl Mark {
    /// Reads a fragment header.
    #[inline]
    pub const fn from_bytes(bytes: [u8; MARK_BYTES]) -> Self {
        let word = u32::from_be_bytes(bytes);
        Self { len: (word & !LAST_FRAGMENT) as usize, last: word & LAST_FRAGMENT != 0 }
    }
}

/// A record longer than agreed; the stream cannot be used any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record of at least {len} bytes, at most {max} allowed")]
pub struct RecordTooLong {
    /// Bytes announced so far.
    pub len: usize,
    /// The limit.
    pub max: usize,
}

/// Leaves room for a fragment header and gives its position for [`end_record`].
#[inline]
pub fn begin_record(writer: &mut Writer) -> usize {
    let at = writer.len();
    writer.u32(0);
    at
}

/// Completes the header at `at`; `beyond` bytes of the record follow outside of the writer.
#[inline]
pub fn end_record(writer: &mut Writer, at: usize, beyond: usize) {
    let len = writer.len() - at - MARK_BYTES + beyond;
    writer.patch(at, len as u32 | LAST_FRAGMENT);
}

/// What is at the front of a stream's bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Front {
    /// A whole record of one fragment: its first byte and its end.
    Whole {
        /// Where the record begins.
        start: usize,
        /// Where it ends.
        end: usize,
    },
    /// The first fragment of a record that has more, or a record not yet whole; none of it taken.
    Partial(Mark),
    /// Fewer than four bytes.
    Nothing,
}

/// Looks at the front of `bytes`; a fragment above `max` bytes is an error before it has arrived.
#[inline]
pub fn front(bytes: &[u8], max: usize) -> Result<Front, RecordTooLong> {
    let Some(mark) = bytes.first_chunk::<MARK_BYTES>() else { return Ok(Front::Nothing) };
    let mark = Mark::from_bytes(*mark);
    if mark.len > max {
        return Err(RecordTooLong { len: mark.len, max });
    }
    let end = MARK_BYTES + mark.len;
    if mark.last && bytes.len() >= end {
        return Ok(Front::Whole { start: MARK_BYTES, end });
    }
    Ok(Front::Partial(mark))
}

/// Puts together one record of several fragments, or one too long for its reader's buffer.
#[derive(Debug, Default)]
pub struct Assembly {
    record: Vec<u8>,
    /// Bytes the current fragment still lacks; none between fragments.
    missing: Option<Mark>,
    header: [u8; MARK_BYTES],
    header_len: usize,
    max: usize,
}

impl Assembly {
    /// Accepts records of at most `max` bytes.
    pub const fn new(max: usize) -> Self {
        Self { record: Vec::new(), missing: None, header: [0; MARK_BYTES], header_len: 0, max }
    }

    /// True while a record is under way.
    pub fn under_way(&self) -> bool {
        self.missing.is_some() || self.header_len > 0 || !self.record.is_empty()
    }

    /// Takes bytes from the front of `bytes`: (bytes taken, true when [`Self::record`] is whole).
    /// Memory grows with the bytes that arrived, never with a length somebody announced.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(usize, bool), RecordTooLong> {
        let mut taken = 0;
        loop {
            let rest = &bytes[taken..];
            let Some(mark) = &mut self.missing else {
                if rest.is_empty() {
                    return Ok((taken, false));
                }
                let count = rest.len().min(MARK_BYTES - self.header_len);
                self.header[self.header_len..self.header_len + count].copy_from_slice(&rest[..count]);
                self.header_len += count;
                taken += count;
                if self.header_len == MARK_BYTES {
                    self.begin_fragment()?;
                }
                continue;
            };
            let count = mark.len.min(rest.len());
            self.record.extend_from_slice(&rest[..count]);
            taken += count;
            mark.len -= count;
            if mark.len > 0 {
                return Ok((taken, false));
            }
            let last = mark.last;
            self.missing = None;
            if last {
                return Ok((taken, true));
            }
        }
    }

    fn begin_fragment(&mut self) -> Result<(), RecordTooLong> {
        let mark = Mark::from_bytes(self.header);
        self.header_len = 0;
        let len = self.record.len() + mark.len;
        if len > self.max {
            return Err(RecordTooLong { len, max: self.max });
        }
        self.missing = Some(mark);
        Ok(())
    }

    /// The bytes put together so far.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// Makes ready for the next record; keeps up to `keep` bytes of memory.
    pub fn reset(&mut self, keep: usize) {
        self.record.clear();
        self.record.shrink_to(keep);
        self.missing = None;
        self.header_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragments(record: &[u8], sizes: &[usize]) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut rest = record;
        for size in sizes {
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            stream.extend_from_slice(&(head.len() as u32).to_be_bytes());
            stream.extend_from_slice(head);
            rest = tail;
        }
        stream.extend_from_slice(&(rest.len() as u32 | LAST_FRAGMENT).to_be_bytes());
        stream.extend_from_slice(rest);
        stream
    }

    #[test]
    fn a_mark_is_31_bits_of_length_and_one_of_end() {
        assert_eq!(Mark::from_bytes([0x80, 0, 1, 2]), Mark { len: 258, last: true });
        assert_eq!(Mark::from_bytes([0x7f, 0xff, 0xff, 0xff]), Mark { len: 0x7fff_ffff, last: false });
    }

    #[test]
    fn two_gigabytes_announced_cost_nothing() {
        let error = front(&[0xff, 0xff, 0xff, 0xff], 1 << 20).unwrap_err();
        assert_eq!(error.len, 0x7fff_ffff);
        assert!(Assembly::new(1 << 20).push(&[0x7f, 0xff, 0xff, 0xff, 1, 2, 3]).is_err());
    }

    #[test]
    fn many_small_fragments_do_not_pass_the_limit_together() {
        let mut assembly = Assembly::new(100);
        assert!(assembly.push(&fragments(&[7; 101], &[50, 50])).is_err());
    }

    proptest! {
        #[test]
        fn any_fragments_in_any_pieces_give_the_record_back(
            record in proptest::collection::vec(any::<u8>(), 0..400),
            sizes in proptest::collection::vec(0usize..90, 0..6),
            piece in 1usize..50,
        ) {
            let mut stream = fragments(&record, &sizes);
            stream.extend_from_slice(b"next");
            let mut assembly = Assembly::new(400);
            let (mut at, mut whole) = (0, false);
            while !whole {
                let end = (at + piece).min(stream.len());
                let (taken, done) = assembly.push(&stream[at..end]).unwrap();
                at += taken;
                whole = done;
            }
            prop_assert_eq!(assembly.record(), &record[..]);
            prop_assert_eq!(&stream[at..], &b"next"[..]);
        }

        #[test]
        fn garbage_never_holds_more_than_the_limit(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut assembly = Assembly::new(256);
            let mut rest = &bytes[..];
            while let Ok((taken, whole)) = assembly.push(rest) {
                prop_assert!(assembly.record().len() <= 256);
                rest = &rest[taken..];
                if whole { assembly.reset(0) }
                if rest.is_empty() { break }
            }
        }
    }
}
