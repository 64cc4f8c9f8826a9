//! Record marking (RFC 5531, 11): records of a stream, in one or several fragments, up to a limit.

use crate::xdr::Writer;

/// Bit that marks the last fragment of a record.
pub const LAST_FRAGMENT: u32 = 0x8000_0000;

/// Bytes of a fragment header.
pub const FRAGMENT_HEADER_BYTES: usize = 4;

/// A fragment header (RFC 5531, 11): 31 bits of length, and one bit that marks the last fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentHeader {
    /// Bytes of the fragment.
    pub len: usize,
    /// True if the record ends with this fragment.
    pub last: bool,
}

impl FragmentHeader {
    /// Decodes a fragment header.
    #[inline]
    pub const fn from_bytes(bytes: [u8; FRAGMENT_HEADER_BYTES]) -> Self {
        let word = u32::from_be_bytes(bytes);
        Self { len: (word & !LAST_FRAGMENT) as usize, last: word & LAST_FRAGMENT != 0 }
    }
}

/// A record above the limit of its receiver. The stream cannot be used any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record of at least {len} bytes, at most {max} are allowed")]
pub struct RecordTooLong {
    /// Length that the fragment headers have announced.
    pub len: usize,
    /// The limit.
    pub max: usize,
}

/// Reserves a fragment header and returns its position for [`end_record`].
#[inline]
pub fn begin_record(writer: &mut Writer) -> usize {
    let at = writer.len();
    writer.u32(0);
    at
}

/// Completes the header at `at`; `beyond` bytes of the record follow outside the writer.
#[inline]
pub fn end_record(writer: &mut Writer, at: usize, beyond: usize) {
    let len = writer.len() - at - FRAGMENT_HEADER_BYTES + beyond;
    writer.patch(at, len as u32 | LAST_FRAGMENT);
}

/// The record at the front of a stream's bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRecord {
    /// A complete record of one fragment.
    Whole {
        /// Position of its first byte.
        start: usize,
        /// Position after its last byte.
        end: usize,
    },
    /// A record that is incomplete, or has several fragments. None of it is consumed.
    Partial(FragmentHeader),
    /// Less than a fragment header.
    Incomplete,
}

/// Inspects the front of `bytes`. A fragment above `max` bytes is an error before it has arrived.
#[inline]
pub fn next_record(bytes: &[u8], max: usize) -> Result<NextRecord, RecordTooLong> {
    let Some(fragment) = bytes.first_chunk::<FRAGMENT_HEADER_BYTES>() else {
        return Ok(NextRecord::Incomplete);
    };
    let fragment = FragmentHeader::from_bytes(*fragment);
    if fragment.len > max {
        return Err(RecordTooLong { len: fragment.len, max });
    }
    let end = FRAGMENT_HEADER_BYTES + fragment.len;
    if fragment.last && bytes.len() >= end {
        return Ok(NextRecord::Whole { start: FRAGMENT_HEADER_BYTES, end });
    }
    Ok(NextRecord::Partial(fragment))
}

/// Least space that a record gets at once.
const GROWTH_BYTES: usize = 64 << 10;

/// Collects one record that has several fragments, or that is too long for its receiver's buffer.
///
/// [`Self::push`] takes bytes that have arrived, until the record is complete; the rest of a large fragment can also be
/// received in place, into [`Self::space`]. The caller then processes [`Self::record`] and calls [`Self::reset`]. Memory
/// grows with the bytes that arrived, never with a length that a peer announced, and the sum of all fragments is limited.
#[derive(Debug, Default)]
pub struct RecordReassembly {
    /// Longer than the record, so that memory that is used again is not cleared again.
    memory: Vec<u8>,
    /// Bytes of the record.
    len: usize,
    /// Missing bytes of the current fragment; none between fragments.
    missing: Option<FragmentHeader>,
    header: [u8; FRAGMENT_HEADER_BYTES],
    header_len: usize,
    max: usize,
}

impl RecordReassembly {
    /// Accepts records of at most `max` bytes.
    pub const fn new(max: usize) -> Self {
        Self {
            memory: Vec::new(),
            len: 0,
            missing: None,
            header: [0; FRAGMENT_HEADER_BYTES],
            header_len: 0,
            max,
        }
    }

    /// True while a record is incomplete.
    pub fn in_progress(&self) -> bool {
        self.missing.is_some() || self.header_len > 0 || self.len > 0
    }

    /// Takes bytes from the front of `bytes`. Returns the number of bytes taken, and true if [`Self::record`] is
    /// complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(usize, bool), RecordTooLong> {
        let mut taken = 0;
        loop {
            let rest = &bytes[taken..];
            let Some(fragment) = self.missing else {
                if rest.is_empty() {
                    return Ok((taken, false));
                }
                let count = rest.len().min(FRAGMENT_HEADER_BYTES - self.header_len);
                self.header[self.header_len..self.header_len + count].copy_from_slice(&rest[..count]);
                self.header_len += count;
                taken += count;
                if self.header_len == FRAGMENT_HEADER_BYTES {
                    self.begin_fragment()?;
                }
                continue;
            };
            let count = fragment.len.min(rest.len());
            self.grow(count);
            self.memory[self.len..self.len + count].copy_from_slice(&rest[..count]);
            taken += count;
            self.received(count);
            if count < fragment.len {
                return Ok((taken, false));
            }
            self.missing = None;
            if fragment.last {
                return Ok((taken, true));
            }
        }
    }

    fn begin_fragment(&mut self) -> Result<(), RecordTooLong> {
        let fragment = FragmentHeader::from_bytes(self.header);
        self.header_len = 0;
        let len = self.len + fragment.len;
        if len > self.max {
            return Err(RecordTooLong { len, max: self.max });
        }
        self.missing = Some(fragment);
        Ok(())
    }

    /// Makes the memory at least `count` bytes longer than the record.
    fn grow(&mut self, count: usize) {
        if self.memory.len() < self.len + count {
            self.memory.resize(self.len + count, 0);
        }
    }

    /// Space for missing bytes of the current fragment, for a read that needs no copy; none if all have arrived. The
    /// caller reports by [`Self::received`] what it has read, and continues with [`Self::push`].
    pub fn space(&mut self) -> Option<&mut [u8]> {
        let missing = self.missing?.len;
        if missing == 0 {
            return None;
        }
        let spare = self.memory.len() - self.len;
        let count = missing.min(spare.max(self.len).max(GROWTH_BYTES));
        self.grow(count);
        self.memory.get_mut(self.len..self.len + count)
    }

    /// Records that `count` bytes were received into [`Self::space`].
    pub fn received(&mut self, count: usize) {
        if let Some(fragment) = &mut self.missing {
            let count = count.min(fragment.len);
            self.len += count;
            fragment.len -= count;
        }
    }

    /// The bytes collected so far.
    pub fn record(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// The bytes collected so far, for decoding in place.
    pub fn record_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }

    /// Prepares for the next record and keeps up to `keep` bytes of memory.
    pub fn reset(&mut self, keep: usize) {
        self.len = 0;
        self.memory.truncate(keep);
        self.memory.shrink_to(keep);
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
    fn a_fragment_header_is_31_bits_of_length_and_a_last_bit() {
        assert_eq!(FragmentHeader::from_bytes([0x80, 0, 1, 2]), FragmentHeader { len: 258, last: true });
        assert_eq!(
            FragmentHeader::from_bytes([0x7f, 0xff, 0xff, 0xff]),
            FragmentHeader { len: 0x7fff_ffff, last: false }
        );
    }

    #[test]
    fn an_announced_length_of_two_gigabytes_allocates_nothing() {
        let error = next_record(&[0xff, 0xff, 0xff, 0xff], 1 << 20).unwrap_err();
        assert_eq!(error.len, 0x7fff_ffff);
        assert!(RecordReassembly::new(1 << 20).push(&[0x7f, 0xff, 0xff, 0xff, 1, 2, 3]).is_err());
    }

    #[test]
    fn many_small_fragments_cannot_exceed_the_limit_together() {
        let mut reassembly = RecordReassembly::new(100);
        assert!(reassembly.push(&fragments(&[7; 101], &[50, 50])).is_err());
    }

    /// A record, and its fragments before those of the next one.
    fn fragmented() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let record = proptest::collection::vec(any::<u8>(), 0..400);
        let sizes = proptest::collection::vec(0usize..90, 0..6);
        (record, sizes).prop_map(|(record, sizes)| {
            let stream = [&fragments(&record, &sizes)[..], b"next"].concat();
            (record, stream)
        })
    }

    proptest! {
        #[test]
        fn a_record_survives_any_fragments_in_any_pieces(
            (record, stream) in fragmented(),
            piece in 1usize..50,
        ) {
            let mut reassembly = RecordReassembly::new(400);
            let mut at = 0;
            let mut whole = false;
            while !whole {
                let end = (at + piece).min(stream.len());
                let (taken, done) = reassembly.push(&stream[at..end]).unwrap();
                at += taken;
                whole = done;
            }
            prop_assert_eq!(reassembly.record(), &record[..]);
            prop_assert_eq!(&stream[at..], &b"next"[..]);
        }

        #[test]
        fn a_record_received_in_place_is_the_one_that_was_pushed(
            (record, stream) in fragmented(),
            piece in 1usize..50,
        ) {
            let mut reassembly = RecordReassembly::new(400);
            let mut at = 0;
            // Memory of an earlier record, which is longer.
            reassembly.grow(500);
            loop {
                if let Some(space) = reassembly.space() {
                    let count = space.len().min(piece);
                    space[..count].copy_from_slice(&stream[at..at + count]);
                    reassembly.received(count);
                    at += count;
                }
                // A header, or nothing.
                let end = if reassembly.space().is_some() { at } else { at + 1 };
                let (taken, whole) = reassembly.push(&stream[at..end]).unwrap();
                at += taken;
                if whole { break }
            }
            prop_assert_eq!(reassembly.record(), &record[..]);
            prop_assert_eq!(&stream[at..], &b"next"[..]);
        }

        #[test]
        fn garbage_never_grows_beyond_the_limit(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut reassembly = RecordReassembly::new(256);
            let mut rest = &bytes[..];
            while let Ok((taken, whole)) = reassembly.push(rest) {
                prop_assert!(reassembly.record().len() <= 256);
                rest = &rest[taken..];
                if whole { reassembly.reset(0) }
                if rest.is_empty() { break }
            }
        }
    }
}
