//! The sending half of a connection: calls gathered, payload left where it is, one vectored write.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::xdr::{Writer, padding};

/// Buffers of one vectored write; the kernel takes up to 1024.
const MAX_SLICES: usize = 64;

/// Sent header bytes are dropped from the front of the buffer beyond this.
const COMPACT_BYTES: usize = 32 << 10;

/// Header bytes and the payload that follows them.
#[derive(Debug, Clone, Copy)]
struct Part {
    head: usize,
    slot: usize,
    payload: usize,
}

/// Calls waiting to be sent. Payload stays in the slots' buffers until it is on its way.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    heads: Writer,
    parts: VecDeque<Part>,
    /// Header bytes of parts that are gone.
    heads_done: usize,
    /// Bytes of the first part already sent.
    part_done: usize,
}

impl Sender {
    /// Lets `encode` append one record to the header bytes; `payload` bytes of slot `slot` follow it.
    #[inline]
    pub(crate) fn push(&mut self, slot: usize, payload: usize, encode: impl FnOnce(&mut Writer)) {
        let before = self.heads.len();
        encode(&mut self.heads);
        let head = self.heads.len() - before;
        match self.parts.back_mut() {
            Some(part) if part.payload == 0 => {
                part.head += head;
                (part.slot, part.payload) = (slot, payload);
            }
            _ => self.parts.push_back(Part { head, slot, payload }),
        }
        let pad = padding(payload);
        if pad > 0 {
            self.heads.pad(payload);
            self.parts.push_back(Part { head: pad, slot, payload: 0 });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Drops everything that waits.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.parts.clear();
        (self.heads_done, self.part_done) = (0, 0);
    }

    /// Writes what waits; gives the bytes written by this call. Ready when all is written.
    pub(crate) fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        buffers: &[Box<[u8]>],
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
        buffers: &[Box<[u8]>],
    ) -> Poll<io::Result<usize>> {
        let heads = &self.heads.as_slice()[self.heads_done..];
        if let (1, Some(Part { head, payload: 0, .. })) = (self.parts.len(), self.parts.front()) {
            return Pin::new(stream).poll_write(cx, &heads[self.part_done..*head]);
        }
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let (mut at, mut skip, mut used) = (0, self.part_done, 0);
        for part in self.parts.iter().take(MAX_SLICES / 2) {
            let head = &heads[at..at + part.head];
            let payload = &buffers[part.slot][..part.payload];
            at += part.head;
            let head_skip = skip.min(head.len());
            let payload_skip = skip - head_skip;
            for piece in [&head[head_skip..], &payload[payload_skip..]] {
                if !piece.is_empty() {
                    slices[used] = IoSlice::new(piece);
                    used += 1;
                }
            }
            skip = 0;
        }
        Pin::new(stream).poll_write_vectored(cx, &slices[..used])
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(part) = self.parts.front() {
            let left = part.head + part.payload - self.part_done;
            if count < left {
                self.part_done += count;
                break;
            }
            count -= left;
            self.heads_done += part.head;
            self.part_done = 0;
            self.parts.pop_front();
        }
        if self.parts.is_empty() {
            self.clear();
        } else if self.heads_done > COMPACT_BYTES {
            self.heads.drop_front(self.heads_done);
            self.heads_done = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            let count = all.len().min(self.limit);
            self.got.extend_from_slice(&all[..count]);
            Poll::Ready(Ok(count))
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
        fn whatever_the_socket_takes_the_stream_is_the_same(
            calls in proptest::collection::vec((1usize..40, 0usize..60), 1..100),
            limit in 1usize..300,
        ) {
            let buffers: Vec<Box<[u8]>> = (0..calls.len()).map(|n| vec![n as u8; 60].into()).collect();
            let (mut sender, mut expected) = (Sender::default(), Vec::new());
            for (slot, (head, payload)) in calls.iter().enumerate() {
                sender.push(slot, *payload, |writer| writer.raw(&vec![0xaa; *head]));
                expected.extend(vec![0xaa; *head]);
                expected.extend_from_slice(&buffers[slot][..*payload]);
                expected.extend(vec![0; padding(*payload)]);
            }
            let mut stream = Trickle { limit, got: Vec::new() };
            let mut sent = 0;
            let mut cx = Context::from_waker(std::task::Waker::noop());
            prop_assert!(sender.poll_send(&mut stream, &mut cx, &buffers, &mut sent).is_ready());
            prop_assert_eq!(sent as usize, expected.len());
            prop_assert_eq!(stream.got, expected);
        }
    }
}
