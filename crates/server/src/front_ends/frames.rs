//! The received bytes of a connection until they are complete frames.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use sharebench_tls::Stream;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::front_ends::buffers::{return_receive_buffer, take_receive_buffer};

/// A frame from this size on is received alone, so that its buffer can be passed on without a copy.
const LARGE_BYTES: usize = 16 << 10;

/// A stream that reports when bytes have arrived.
pub(crate) trait ReadableStream: AsyncRead + Unpin {
    /// Waits until a read makes progress.
    fn readable(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

impl ReadableStream for TcpStream {
    fn readable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        Self::readable(self)
    }
}

impl ReadableStream for Stream {
    fn readable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        Self::readable(self)
    }
}

/// Bytes received on a connection, from which its protocol takes frames.
///
/// A connection that waits for a request has no buffer: it takes one from its thread when bytes arrive, and returns it
/// once it contains nothing any longer.
pub(crate) struct ReceiveBuffer {
    /// Empty while no frame is arriving.
    bytes: Vec<u8>,
    head: usize,
    tail: usize,
    /// Largest frame, with its prefix.
    max_bytes: usize,
    /// When the incomplete frame began to arrive.
    begun: Option<Instant>,
    /// Number of buffers that connections of the server have, if it counts them.
    count: Option<Arc<AtomicU64>>,
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        self.release();
    }
}

impl ReceiveBuffer {
    /// For frames of at most `max_bytes` with their prefix. Its buffer is counted in `count`.
    pub(crate) fn new(max_bytes: usize, count: Option<Arc<AtomicU64>>) -> Self {
        Self { bytes: Vec::new(), head: 0, tail: 0, max_bytes, begun: None, count }
    }

    /// Adds bytes that were received already. It may only be called before anything is received.
    pub(crate) fn prefill(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.acquire();
            let tail = bytes.len().min(self.bytes.len());
            self.bytes[..tail].copy_from_slice(&bytes[..tail]);
            self.tail = tail;
        }
    }

    /// The bytes that no frame was taken from.
    pub(crate) fn unused(&self) -> &[u8] {
        &self.bytes[self.head..self.tail]
    }

    /// The memory that the ranges of frames refer to.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, in which a message may be decrypted.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Reads once; false at the end of the stream, an error if a frame is incomplete for too long. `begun` is true if an
    /// earlier part of the frame was taken; `frame_len` is the length of the frame with its prefix, if that has arrived. It
    /// is cancel-safe.
    pub(crate) async fn receive_within(
        &mut self,
        stream: &mut impl ReadableStream,
        io_timeout: Duration,
        begun: bool,
        frame_len: Option<usize>,
    ) -> io::Result<bool> {
        if self.head == self.tail && !begun {
            self.begun = None;
            return self.receive(stream, frame_len).await;
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let late = || io::Error::new(io::ErrorKind::TimedOut, "a request did not arrive completely in time");
        timeout_at(begun + io_timeout, self.receive(stream, frame_len)).await.map_err(|_| late())?
    }

    async fn receive(
        &mut self,
        stream: &mut impl ReadableStream,
        frame_len: Option<usize>,
    ) -> io::Result<bool> {
        loop {
            if self.head == self.tail {
                self.release();
                stream.readable().await?;
                self.acquire();
            }
            let space = self.space(frame_len);
            let mut unfilled = ReadBuf::new(&mut self.bytes[space]);
            // One poll instead of a read: an empty buffer must not wait for bytes that do not arrive. A poll that fills
            // only a part of the buffer also shows tokio that the socket is empty, which saves a system call.
            let read = poll_fn(|cx| Poll::Ready(Pin::new(&mut *stream).poll_read(cx, &mut unfilled))).await;
            let count = unfilled.filled().len();
            match read {
                Poll::Ready(read) => {
                    read?;
                    self.tail += count;
                    return Ok(count > 0);
                }
                Poll::Pending if self.head == self.tail => {}
                Poll::Pending => stream.readable().await?,
            }
        }
    }

    fn acquire(&mut self) {
        self.bytes = take_receive_buffer();
        if let Some(count) = &self.count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn release(&mut self) {
        self.head = 0;
        self.tail = 0;
        if !self.bytes.is_empty() {
            return_receive_buffer(std::mem::take(&mut self.bytes));
            self.note_release();
        }
    }

    fn note_release(&self) {
        if let Some(count) = &self.count {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The part of the buffer that the next bytes may fill.
    fn space(&mut self, frame_len: Option<usize>) -> Range<usize> {
        self.bytes.copy_within(self.head..self.tail, 0);
        self.tail -= self.head;
        self.head = 0;
        if self.tail == self.bytes.len() {
            let grown = (self.bytes.len() * 2).min(self.max_bytes).max(self.tail + 1);
            self.bytes.resize(grown, 0);
        }
        let mut end = self.bytes.len();
        if let Some(len) = frame_len.filter(|len| *len >= LARGE_BYTES) {
            // Reads no further than the large frame, so that it is alone in the buffer and can be handed over
            // by a swap.
            end = end.min(len).max(self.tail + 1);
        }
        self.tail..end
    }

    /// Takes a part of a frame.
    pub(crate) fn take_part(&mut self, len: usize) {
        self.head += len;
    }

    /// The frame whose parts were taken is complete.
    pub(crate) fn end_frame(&mut self) {
        self.begun = None;
    }

    /// Takes a complete frame of this length, and returns where its bytes are.
    pub(crate) fn take_frame(&mut self, len: usize) -> Range<usize> {
        let start = self.head;
        self.take_part(len);
        self.end_frame();
        start..self.head
    }

    /// Moves a message into `other`: by swapping buffers if it is large and alone, otherwise by a copy.
    pub(crate) fn move_message(&mut self, range: Range<usize>, other: &mut Vec<u8>) -> Range<usize> {
        if self.head == self.tail && range.len() >= LARGE_BYTES {
            std::mem::swap(&mut self.bytes, other);
            self.head = 0;
            self.tail = 0;
            if self.bytes.is_empty() {
                self.note_release();
            }
            return range;
        }
        let message = &self.bytes[range];
        if other.len() < message.len() {
            other.resize(message.len(), 0);
        }
        other[..message.len()].copy_from_slice(message);
        0..message.len()
    }
}
