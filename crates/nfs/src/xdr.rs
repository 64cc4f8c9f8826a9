//! XDR (RFC 4506): a reader that never allocates and a writer that reuses its buffer.

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XdrError {
    /// The message ends within an item.
    #[error("an item needs {wanted} bytes, {left} are left")]
    Truncated {
        /// Bytes that the item needs.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length above the limit of its field.
    #[error("{field} of {len} bytes, at most {max} are allowed")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length on the wire.
        len: u32,
        /// Its limit.
        max: usize,
    },
    /// A value outside its enumeration.
    #[error("{field} has the unknown value {value}")]
    BadValue {
        /// The field.
        field: &'static str,
        /// Its value on the wire.
        value: u32,
    },
}

/// Decodes items from the front of a message. Decoded bytes borrow from the message, so that the reader never allocates.
///
/// Every length is checked against the message and against the limit of its field before it is used; bytes from a peer
/// lead to an [`XdrError`] and never to a panic or a large allocation.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    of_capture: bool,
}

impl<'a> Reader<'a> {
    /// Starts at the front of `message`.
    pub const fn new(message: &'a [u8]) -> Self {
        Self { rest: message, of_capture: false }
    }

    /// Starts at the front of a message that a capture shows. The capture may have only its first bytes, and its peers may
    /// use values that this crate does not know. Therefore padding may be missing at the end, every boolean but 0 is true, a
    /// file may be of any kind, and a set of attributes ends before the first one that cannot be decoded.
    pub const fn of_capture(message: &'a [u8]) -> Self {
        Self { rest: message, of_capture: true }
    }

    /// True if the message was captured: see [`Self::of_capture`].
    pub const fn is_of_capture(&self) -> bool {
        self.of_capture
    }

    /// The bytes that were not decoded yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Exactly `len` bytes, without padding.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], XdrError> {
        let Some((head, tail)) = self.rest.split_at_checked(len) else {
            return Err(XdrError::Truncated { wanted: len, left: self.rest.len() });
        };
        self.rest = tail;
        Ok(head)
    }

    /// `N` bytes of fixed opaque data (RFC 4506, 4.9); `N` must be a multiple of four.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else {
            return Err(XdrError::Truncated { wanted: N, left: self.rest.len() });
        };
        self.rest = tail;
        Ok(*head)
    }

    /// An unsigned integer or an enumeration (RFC 4506, 4.2).
    #[inline]
    pub fn u32(&mut self) -> Result<u32, XdrError> {
        self.array().map(u32::from_be_bytes)
    }

    /// An unsigned hyper integer (RFC 4506, 4.5).
    #[inline]
    pub fn u64(&mut self) -> Result<u64, XdrError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A boolean (RFC 4506, 4.4). Values other than 0 and 1 are errors.
    #[inline]
    pub fn boolean(&mut self, field: &'static str) -> Result<bool, XdrError> {
        match self.u32()? {
            0 => Ok(false),
            value if value == 1 || self.of_capture => Ok(true),
            value => Err(XdrError::BadValue { field, value }),
        }
    }

    /// Variable opaque data or a string of at most `max` bytes (RFC 4506, 4.10).
    #[inline]
    pub fn opaque(&mut self, field: &'static str, max: usize) -> Result<&'a [u8], XdrError> {
        let len = self.u32()?;
        if len as usize > max {
            return Err(XdrError::TooLong { field, len, max });
        }
        self.padded(len as usize)
    }

    /// `len` bytes and their padding (RFC 4506, 4.9). The length of data may precede them by other items.
    #[inline]
    pub fn padded(&mut self, len: usize) -> Result<&'a [u8], XdrError> {
        let body = self.take(len)?;
        match self.take(padding(len)) {
            Err(_) if self.of_capture => self.rest = &[],
            padding => drop(padding?),
        }
        Ok(body)
    }
}

/// Bytes that fill an opaque of `len` bytes up to a multiple of four (RFC 4506, 3).
pub const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// Encodes items into a buffer that keeps its memory between messages and does not fill it with zeros again.
#[derive(Debug, Default, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
    len: usize,
}

impl Writer {
    /// An empty writer with memory for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], len: 0 }
    }

    /// The encoded bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Number of encoded bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if nothing is encoded.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Removes the first `count` bytes.
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.len);
        self.bytes.copy_within(count..self.len, 0);
        self.len -= count;
    }

    /// Bytes of memory, which hold messages of this length without growing.
    pub const fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// Frees memory above `limit` bytes.
    pub fn shrink(&mut self, limit: usize) {
        if self.bytes.len() > limit && self.len <= limit {
            self.bytes.truncate(limit);
            self.bytes.shrink_to_fit();
        }
    }

    /// The next `count` bytes, with unspecified content. [`Self::advance`] adds them to the message.
    #[inline]
    pub fn spare(&mut self, count: usize) -> &mut [u8] {
        let end = self.len + count;
        if self.bytes.len() < end {
            self.grow(end);
        }
        &mut self.bytes[self.len..end]
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        // Doubling makes the cost of growth constant per byte; only new memory is filled with zeros.
        self.bytes.resize(end.max(self.bytes.len() * 2).max(512), 0);
    }

    /// Counts `count` bytes of [`Self::spare`] as written.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.len = (self.len + count).min(self.bytes.len());
    }

    /// Raw bytes without length and padding.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.spare(bytes.len()).copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// An unsigned integer or an enumeration.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_be_bytes());
    }

    /// Unsigned integers, one after the other.
    pub fn words(&mut self, values: &[u32]) {
        for value in values {
            self.u32(*value);
        }
    }

    /// An unsigned hyper integer.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_be_bytes());
    }

    /// A boolean.
    #[inline]
    pub fn boolean(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Variable opaque data or a string.
    #[inline]
    pub fn opaque(&mut self, body: &[u8]) {
        self.u32(body.len() as u32);
        self.raw(body);
        self.pad(body.len());
    }

    /// The zero bytes after an opaque of `len` bytes.
    #[inline]
    pub fn pad(&mut self, len: usize) {
        self.raw(&[0; 3][..padding(len)]);
    }

    /// The encoded bytes from `from` on, for encryption in place.
    pub fn written_mut(&mut self, from: usize) -> &mut [u8] {
        self.bytes.get_mut(from..self.len).unwrap_or_default()
    }

    /// Overwrites the four bytes at `at`, which must be encoded already.
    #[inline]
    pub fn patch(&mut self, at: usize, value: u32) {
        if let Some(place) = self.bytes[..self.len].get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaques_are_padded_to_four_bytes() {
        let mut writer = Writer::default();
        writer.opaque(b"sillyprog");
        // The example of RFC 4506, section 7.
        assert_eq!(writer.as_slice(), b"\0\0\0\x09sillyprog\0\0\0");
        let mut reader = Reader::new(writer.as_slice());
        assert_eq!(reader.opaque("name", 9), Ok(&b"sillyprog"[..]));
        assert!(reader.rest().is_empty());
    }

    #[test]
    fn a_length_above_the_limit_is_rejected_before_anything_is_decoded() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0, 0]);
        let error = XdrError::TooLong { field: "data", len: u32::MAX, max: 1 << 20 };
        assert_eq!(reader.opaque("data", 1 << 20), Err(error));
        let mut reader = Reader::new(&[0, 0, 0, 9, 1]);
        assert_eq!(reader.opaque("data", 64), Err(XdrError::Truncated { wanted: 9, left: 1 }));
    }

    #[test]
    fn a_captured_message_may_end_within_the_padding() {
        let bytes = [0, 0, 0, 1, b'a', 0];
        assert_eq!(Reader::new(&bytes).opaque("name", 9), Err(XdrError::Truncated { wanted: 3, left: 1 }));
        let mut reader = Reader::of_capture(&bytes);
        assert_eq!((reader.opaque("name", 9), reader.rest()), (Ok(&b"a"[..]), &[][..]));
        assert!(Reader::of_capture(&bytes[..4]).opaque("name", 9).is_err());
    }

    #[test]
    fn a_boolean_is_zero_or_one() {
        assert!(Reader::new(&[0, 0, 0, 2]).boolean("eof").is_err());
        assert_eq!(Reader::of_capture(&[0, 0, 0, 2]).boolean("eof"), Ok(true));
    }

    #[test]
    fn a_cleared_writer_keeps_its_memory() {
        let mut writer = Writer::with_capacity(8);
        writer.u64(7);
        writer.clear();
        assert!(writer.is_empty());
        writer.u32(1);
        assert_eq!(writer.as_slice(), [0, 0, 0, 1]);
    }
}
