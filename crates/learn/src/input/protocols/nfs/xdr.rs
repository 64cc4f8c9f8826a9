//! Reads of XDR (RFC 4506) that end with none where the bytes end.

/// The rest of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Xdr<'a>(pub(super) &'a [u8]);

impl<'a> Xdr<'a> {
    pub(super) fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*bytes))
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        Some(self.u32()? != 0)
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    /// Bytes with their length, of at most `max`.
    pub(super) fn opaque(&mut self, max: usize) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        let bytes = self.0.get(..len).filter(|_| len <= max)?;
        // A capture may end within the padding.
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(bytes)
    }

    /// Skips bytes with their length.
    pub(super) fn skip_opaque(&mut self) -> Option<()> {
        self.opaque(usize::MAX).map(|_| ())
    }

    /// The first 128 bits of a bitmap (RFC 7530 2.2, `bitmap4`).
    pub(super) fn bitmap(&mut self) -> Option<u128> {
        let mut bits = 0;
        for index in 0..self.u32()? {
            let word = u128::from(self.u32()?);
            if index < 4 {
                bits |= word << (32 * index);
            }
        }
        Some(bits)
    }
}
