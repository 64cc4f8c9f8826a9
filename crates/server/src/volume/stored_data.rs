//! Data of a read where a volume stores them, so that a reply needs no copy of them.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

/// Data of a read, in pieces. Each piece keeps its memory: a later write to the file does not change the data.
#[derive(Debug, Clone, Default)]
pub struct StoredData {
    pieces: Vec<(Arc<Vec<u8>>, Range<usize>)>,
    len: usize,
}

impl StoredData {
    /// Appends a range of bytes, as far as they exist.
    pub fn push(&mut self, bytes: Arc<Vec<u8>>, range: Range<usize>) {
        let end = range.end.min(bytes.len());
        let range = range.start.min(end)..end;
        self.len += range.len();
        self.pieces.push((bytes, range));
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a read at the end of the file.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces in their order.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let bytes = self.pieces.iter().map(|(bytes, range)| bytes.get(range.clone()).unwrap_or_default());
        bytes.map(IoSlice::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_their_bytes() {
        let bytes = Arc::new(b"abcdef".to_vec());
        let mut data = StoredData::default();
        data.push(Arc::clone(&bytes), 1..3);
        data.push(Arc::clone(&bytes), 4..9);
        data.push(bytes, 7..9);
        let slices: Vec<u8> = data.slices().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!((slices.as_slice(), data.len(), data.is_empty()), (&b"bcef"[..], 4, false));
    }
}
