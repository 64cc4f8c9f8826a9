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
        self.skip(len.next_multiple_of(4))?;
        Some(bytes)
    }
}
