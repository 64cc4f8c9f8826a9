//! The sending half of a connection: requests gathered, payload left where it is, one vectored write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::client::buffers::Buffers;

/// Buffers of one vectored write; the kernel takes up to 1024.
const MAX_SLICES: usize = 64;
/// Sent bytes are dropped from the front of the gathered ones beyond this.
const COMPACT_BYTES: usize = 32 << 10;
/// Beyond this many gathered bytes, further requests wait until some are sent.
const FULL_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
enum Part {
    /// So many of the gathered bytes.
    Gathered(usize),
    /// The WRITE request in a slot, with this payload.
    Slot { index: usize, payload: usize },
}

/// Requests waiting to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// Gathered bytes of parts that are gone.
    bytes_done: usize,
    parts: VecDeque<Part>,
    /// Bytes of the first part already sent.
    part_done: usize,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True when no more should be gathered for now.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > FULL_BYTES
    }

    /// Lets `put` append one frame; the gathered bytes start at the given index.
    #[inline]
    pub(crate) fn gather(&mut self, put: impl FnOnce(&mut Vec<u8>, usize)) {
        let start = self.bytes.len();
        put(&mut self.bytes, start);
        let len = self.bytes.len() - start;
        match self.parts.back_mut() {
            Some(Part::Gathered(before)) => *before += len,
            _ => self.parts.push_back(Part::Gathered(len)),
        }
    }

    /// Queues the WRITE request in a slot.
    #[inline]
    pub(crate) fn push_slot(&mut self, index: usize, payload: usize) {
        self.parts.push_back(Part::Slot { index, payload });
    }

    /// Drops everything that waits.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        (self.bytes_done, self.part_done) = (0, 0);
    }

    /// Writes what waits and adds the bytes written to `sent`. Ready when all is written.
    pub(crate) fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        buffers: &Buffers,
        sent: &mut u64,
    ) -> Poll<io::Result<()>> {
        while !self.parts.is_empty() {
            let count = ready!(self.poll_write(stream, cx, buffers))?;
            if count == 0 {
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
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        let mut gathered = &self.bytes[self.bytes_done..];
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let mut skip = self.part_done;
        let mut used = 0;
        for (part, slice) in self.parts.iter().zip(&mut slices) {
            let whole = match *part {
                Part::Gathered(len) => {
                    let (head, rest) = gathered.split_at(len);
                    gathered = rest;
                    head
                }
                Part::Slot { index, payload } => buffers.write_frame(index, payload),
            };
            *slice = IoSlice::new(&whole[std::mem::take(&mut skip)..]);
            used += 1;
        }
        match &slices[..used] {
            [one] => Pin::new(stream).poll_write(cx, one),
            several => Pin::new(stream).poll_write_vectored(cx, several),
        }
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(part) = self.parts.front() {
            let (len, gathered) = match *part {
                Part::Gathered(len) => (len, len),
                Part::Slot { payload, .. } => (Buffers::FRAME_HEAD + payload, 0),
            };
            let left = len - self.part_done;
            if count < left {
                self.part_done += count;
                break;
            }
            count -= left;
            self.bytes_done += gathered;
            self.part_done = 0;
            self.parts.pop_front();
        }
        if self.parts.is_empty() {
            self.clear();
        } else if self.bytes_done > COMPACT_BYTES {
            self.bytes.drain(..self.bytes_done);
            self.bytes_done = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes at most `limit` bytes per write.
    struct Trickle {
        limit: usize,
        got: Vec<u8>,
    }

    impl AsyncWrite for Trickle {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.limit);
            self.got.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn frames_leave_in_order_however_little_a_write_takes() {
        let mut buffers = Buffers::new(2, 100);
        for index in [0, 1] {
            buffers.payload(index).fill(index as u8 + 1);
            buffers.write_message(index, 100)[..112].fill(index as u8 + 11);
            buffers.put_prefix(index, [index as u8 + 21; 4]);
        }
        let wanted =
            [&b"onetwo"[..], &[21; 4], &[11; 112], &[1; 100], &[22; 4], &[12; 112], &[2; 50], b"three"]
                .concat();
        for limit in 1..300 {
            let mut outbox = Outbox::default();
            for text in ["one", "two"] {
                outbox.gather(|bytes, _| bytes.extend_from_slice(text.as_bytes()));
            }
            outbox.push_slot(0, 100);
            outbox.push_slot(1, 50);
            outbox.gather(|bytes, _| bytes.extend_from_slice(b"three"));
            let (mut stream, mut sent) = (Trickle { limit, got: Vec::new() }, 0);
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(outbox.poll_send(&mut stream, &mut cx, &buffers, &mut sent).is_ready());
            assert_eq!(stream.got, wanted);
            assert_eq!((sent, outbox.is_empty()), (wanted.len() as u64, true));
        }
    }
}
