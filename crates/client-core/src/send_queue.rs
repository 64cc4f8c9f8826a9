//! The sending half of a connection: requests gathered, payload sent from where it is, one vectored write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// Buffers of one vectored write. The kernel accepts up to 1024; longer lists gain nothing.
const MAX_SLICES: usize = 64;
/// Sent bytes are removed from the front of the gather buffer once there are more than this.
const MAX_SENT_BYTES: usize = 32 << 10;
/// A gather buffer with more bytes than this accepts no further requests.
const MAX_GATHERED_BYTES: usize = 1 << 20;

/// The buffer that small requests and headers are encoded into.
pub trait GatherBuffer: Default {
    /// The encoded bytes.
    fn as_slice(&self) -> &[u8];
    /// Removes all bytes and keeps the memory.
    fn clear(&mut self);
    /// Removes `count` bytes from the front.
    fn drop_front(&mut self, count: usize);
}

impl GatherBuffer for Vec<u8> {
    fn as_slice(&self) -> &[u8] {
        self
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn drop_front(&mut self, count: usize) {
        self.drain(..count);
    }
}

/// The buffers of a session's slots, as the sender reads them.
pub trait SlotBytes {
    /// The first `len` bytes that slot `index` sends.
    fn outgoing(&self, index: usize, len: usize) -> &[u8];
}

impl SlotBytes for [Box<[u8]>] {
    #[inline]
    fn outgoing(&self, index: usize, len: usize) -> &[u8] {
        &self[index][..len]
    }
}

#[derive(Debug, Clone, Copy)]
enum Part {
    /// The next bytes of the gather buffer: how many.
    Gathered(usize),
    /// Bytes in a slot's buffer.
    Slot { index: usize, len: usize },
}

impl Part {
    const fn len(self) -> usize {
        match self {
            Self::Gathered(len) | Self::Slot { len, .. } => len,
        }
    }
}

/// Requests that wait to be sent, in order.
///
/// Headers and small requests are copied into one gather buffer. Payload stays in its slot until the kernel takes it,
/// so that a large WRITE is not copied; the slot's bytes must therefore not change before the reply arrives, which the
/// session's slot rule guarantees. One vectored write sends as many parts as possible, so that a burst of requests
/// costs one system call. A partial write continues at the byte where it stopped.
#[derive(Debug, Default)]
pub struct SendQueue<B> {
    gathered: B,
    /// Bytes at the front of the gather buffer whose parts are completely sent.
    gathered_sent: usize,
    parts: VecDeque<Part>,
    /// Bytes of the first part that are sent.
    part_sent: usize,
}

impl<B: GatherBuffer> SendQueue<B> {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if no more requests should be encoded until some bytes are sent.
    pub fn is_full(&self) -> bool {
        self.gathered.as_slice().len() > MAX_GATHERED_BYTES
    }

    /// Lets `encode` append bytes to the gather buffer; it gets the position at which they start.
    #[inline]
    pub fn gather(&mut self, encode: impl FnOnce(&mut B, usize)) {
        let start = self.gathered.as_slice().len();
        encode(&mut self.gathered, start);
        let len = self.gathered.as_slice().len() - start;
        match self.parts.back_mut() {
            Some(Part::Gathered(before)) => *before += len,
            // A new part only after payload. Requests without payload extend the part before them, so that a
            // burst of READs is one part and needs no list of slices.
            _ => self.parts.push_back(Part::Gathered(len)),
        }
    }

    /// Queues the first `len` bytes that slot `index` sends.
    #[inline]
    pub fn push_slot(&mut self, index: usize, len: usize) {
        self.parts.push_back(Part::Slot { index, len });
    }

    /// Drops everything that waits.
    pub fn clear(&mut self) {
        self.gathered.clear();
        self.gathered_sent = 0;
        self.parts.clear();
        self.part_sent = 0;
    }

    /// Writes what waits and adds the number of bytes written to `sent`. It is ready when everything is written.
    pub fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        slots: &(impl SlotBytes + ?Sized),
        sent: &mut u64,
    ) -> Poll<io::Result<()>> {
        while !self.parts.is_empty() {
            let count = ready!(self.poll_write(stream, cx, slots))?;
            if count == 0 {
                // A socket that takes nothing without an error would make this loop endless.
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *sent += count as u64;
            self.advance(count);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write<S: AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        cx: &mut Context<'_>,
        slots: &(impl SlotBytes + ?Sized),
    ) -> Poll<io::Result<usize>> {
        let mut gathered = &self.gathered.as_slice()[self.gathered_sent..];
        let mut bytes_of = |part: Part| match part {
            Part::Gathered(len) => {
                let (head, rest) = gathered.split_at(len);
                gathered = rest;
                head
            }
            Part::Slot { index, len } => slots.outgoing(index, len),
        };
        // A burst of reads is a single part: it needs no list of slices.
        if let (1, Some(part)) = (self.parts.len(), self.parts.front()) {
            return Pin::new(stream).poll_write(cx, &bytes_of(*part)[self.part_sent..]);
        }
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        // Only the first part can be partly sent: `take` resets the offset to 0 for all others.
        let mut skip = self.part_sent;
        let mut used = 0;
        for (part, slice) in self.parts.iter().zip(&mut slices) {
            *slice = IoSlice::new(&bytes_of(*part)[std::mem::take(&mut skip)..]);
            used += 1;
        }
        Pin::new(stream).poll_write_vectored(cx, &slices[..used])
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(part) = self.parts.front() {
            let left = part.len() - self.part_sent;
            if count < left {
                self.part_sent += count;
                break;
            }
            count -= left;
            if let Part::Gathered(len) = part {
                self.gathered_sent += len;
            }
            self.part_sent = 0;
            self.parts.pop_front();
        }
        // Clearing keeps the memory and costs nothing. Moving the unsent rest to the front is a copy, so it
        // waits until enough bytes were sent to be worth it; without it, a queue that never becomes empty
        // would grow without bound.
        if self.parts.is_empty() {
            self.clear();
        } else if self.gathered_sent > MAX_SENT_BYTES {
            self.gathered.drop_front(self.gathered_sent);
            self.gathered_sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A socket that takes at most `limit` bytes per write.
    struct SlowSocket {
        limit: usize,
        got: Vec<u8>,
    }

    impl AsyncWrite for SlowSocket {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.limit);
            self.got.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.poll_write(cx, &all)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    proptest! {
        #[test]
        fn the_stream_is_the_same_whatever_the_socket_takes_per_write(
            requests in proptest::collection::vec((1usize..300, 0usize..60), 1..100),
            limit in 1usize..300,
        ) {
            let slots: Vec<Box<[u8]>> = (0..requests.len()).map(|n| vec![n as u8; 60].into()).collect();
            let mut queue = SendQueue::<Vec<u8>>::default();
            let mut expected = Vec::new();
            for (index, (head, payload)) in requests.iter().enumerate() {
                queue.gather(|bytes, _| bytes.extend(vec![0xaa; *head]));
                expected.extend(vec![0xaa; *head]);
                if *payload > 0 {
                    queue.push_slot(index, *payload);
                    expected.extend_from_slice(&slots[index][..*payload]);
                }
            }
            let mut socket = SlowSocket { limit, got: Vec::new() };
            let mut sent = 0;
            let mut cx = Context::from_waker(std::task::Waker::noop());
            prop_assert!(queue.poll_send(&mut socket, &mut cx, slots.as_slice(), &mut sent).is_ready());
            prop_assert_eq!(sent as usize, expected.len());
            prop_assert_eq!(socket.got, expected);
            prop_assert!(queue.is_empty());
        }
    }

    #[test]
    fn gather_reports_where_its_bytes_start() {
        let mut queue = SendQueue::<Vec<u8>>::default();
        queue.gather(|bytes, start| {
            assert_eq!(start, 0);
            bytes.extend_from_slice(b"one");
        });
        queue.gather(|_, start| assert_eq!(start, 3));
        assert!(!queue.is_empty() && !queue.is_full());
        queue.clear();
        assert!(queue.is_empty());
    }
}
