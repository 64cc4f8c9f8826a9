//! The buffer that small replies pass through.

use sharebench_target::buffer_pool;

/// Largest buffer for bursts of small replies. A larger one would exceed the processor's first caches, and each byte is
/// copied twice: from the socket into the buffer, and from the buffer into its slot.
const MAX_BURST_BYTES: usize = 64 << 10;
/// Payload of a small reply, as far as it counts for the size of a burst.
const MAX_SMALL_PAYLOAD_BYTES: usize = 8 << 10;
/// Space for the header of a small reply in a burst.
const HEADER_ALLOWANCE_BYTES: usize = 256;

/// Bytes that were received and not yet consumed.
///
/// One read fills the buffer with a burst of replies; the client parses them from the front and consumes what it has
/// parsed. The memory comes from the thread's pool when the first byte is awaited and goes back when the session pauses,
/// because thousands of idle sessions would otherwise keep one buffer each (docs/design/user-sessions.md).
#[derive(Debug)]
pub struct ReceiveBuffer {
    /// Empty while the session is idle.
    memory: Box<[u8]>,
    memory_bytes: usize,
    start: usize,
    end: usize,
}

impl ReceiveBuffer {
    /// Makes a buffer for the bursts of a session with `slots` of `slot_bytes`, with at least `min_bytes`.
    pub fn for_slots(slots: usize, slot_bytes: usize, min_bytes: usize) -> Self {
        let reply_bytes = slot_bytes.min(MAX_SMALL_PAYLOAD_BYTES) + HEADER_ALLOWANCE_BYTES;
        let memory_bytes = (slots * reply_bytes).min(MAX_BURST_BYTES).max(min_bytes);
        Self { memory: Box::default(), memory_bytes, start: 0, end: 0 }
    }

    /// Bytes that fit.
    pub fn capacity(&self) -> usize {
        self.memory_bytes
    }

    /// True if every received byte was consumed.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Bytes that were not consumed.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// The bytes that were not consumed.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }

    /// The bytes that were not consumed, for decoding in place.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// Consumes `count` bytes from the front.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        // Clamped, because `count` may come from a length on the wire: bytes of a peer must never lead to a
        // panic.
        self.start = (self.start + count).min(self.end);
    }

    /// Consumes everything.
    #[inline]
    pub fn consume_all(&mut self) {
        self.start = self.end;
    }

    /// Gets memory if there is none, moves the unconsumed bytes to its front, and returns the space after them: as much
    /// as makes the buffer hold `wanted` bytes, or at least `headroom` more bytes than now.
    #[inline]
    pub fn space(&mut self, wanted: usize, headroom: usize) -> &mut [u8] {
        buffer_pool::ensure(&mut self.memory, self.memory_bytes);
        // What is left is at most the start of one reply, so the copy is short; a ring buffer would split
        // replies at its end and they could not be decoded in place.
        self.memory.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let end = wanted.max(self.end + headroom).min(self.memory.len());
        self.memory.get_mut(self.end..end).unwrap_or_default()
    }

    /// Records that `count` bytes were received into [`Self::space`].
    #[inline]
    pub fn received(&mut self, count: usize) {
        self.end = (self.end + count).min(self.memory_bytes);
    }

    /// Returns the memory to the thread's pool, unless it holds unconsumed bytes.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.start = 0;
            self.end = 0;
            buffer_pool::give_back(&mut self.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unconsumed_bytes_move_to_the_front_before_the_next_read() {
        let mut buffer = ReceiveBuffer::for_slots(1, 100, 1000);
        assert_eq!((buffer.capacity(), buffer.is_empty(), buffer.bytes().len()), (1000, true, 0));
        let space = buffer.space(usize::MAX, 0);
        assert_eq!(space.len(), 1000);
        space[..6].copy_from_slice(b"abcdef");
        buffer.received(6);
        buffer.consume(4);
        assert_eq!(buffer.bytes(), b"ef");
        assert_eq!(buffer.space(10, 0).len(), 8);
        assert_eq!(buffer.space(0, 20).len(), 20);
        assert_eq!((buffer.bytes(), buffer.len()), (&b"ef"[..], 2));
        buffer.release();
        assert_eq!(buffer.bytes(), b"ef", "unconsumed bytes stay");
        buffer.consume_all();
        buffer.release();
        assert!(buffer.memory.is_empty() && buffer.is_empty());
    }

    #[test]
    fn the_size_follows_the_slots_within_bounds() {
        let bytes = |slots, slot_bytes| ReceiveBuffer::for_slots(slots, slot_bytes, 4096).capacity();
        assert_eq!((bytes(1, 4096), bytes(2, 4096)), (4352, 8704));
        assert_eq!((bytes(1, 1), bytes(1, 1 << 20), bytes(64, 1 << 20)), (4096, 8448, 65_536));
    }
}
