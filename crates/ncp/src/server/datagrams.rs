//! Datagrams that the server sends.

use std::time::Duration;

/// Datagrams to one client in order, and the pause between them.
#[derive(Debug, Clone, Default)]
pub struct Datagrams {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Pause between two datagrams.
    pub gap: Duration,
}

impl Datagrams {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all datagrams but keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.gap = Duration::ZERO;
    }

    /// True when the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The datagrams in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    /// Appends the bytes that `put` writes as one datagram; nothing if it writes none.
    pub fn push(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.bytes);
        if self.bytes.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.bytes.len());
        }
    }
}
