//! Lines of traces and logs, as long as they may be.

use std::io::{self, BufRead};

/// The lines of an input.
pub(super) struct Lines<'i, R> {
    input: &'i mut R,
    /// Longest line that is read, with its end. Longer ones are skipped.
    most: u64,
    bytes: Vec<u8>,
    /// Lines that were skipped.
    pub(super) skipped: u64,
}

impl<'i, R: BufRead> Lines<'i, R> {
    pub(super) const fn new(input: &'i mut R, most: u64) -> Self {
        Self { input, most, bytes: Vec::new(), skipped: 0 }
    }

    /// The next line, without its end; none after the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.bytes.clear();
            let mut limited = io::Read::take(&mut *self.input, self.most);
            if limited.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(None);
            }
            if self.bytes.last() == Some(&b'\n') || (self.bytes.len() as u64) < self.most {
                return Ok(Some(self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes)));
            }
            self.skipped += 1;
            self.input.skip_until(b'\n')?;
        }
    }
}
