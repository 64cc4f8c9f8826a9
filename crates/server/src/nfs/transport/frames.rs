//! Splits the bytes of a connection into records, up to a limit.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use sharebench_nfs::record::{FRAGMENT_HEADER_BYTES, NextRecord, RecordReassembly, next_record};
use sharebench_tls::Stream;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, timeout_at};

use crate::nfs::transport::buffers::{return_receive_buffer, take_receive_buffer};

/// Largest call: a WRITE of 1 MiB with its header.
pub(crate) const MAX_CALL_BYTES: usize = (1 << 20) + (64 << 10);
/// A record from this size on is received alone, so that its buffer can be passed on without a copy.
const LARGE_BYTES: usize = 16 << 10;

/// Bytes received on a connection.
///
/// A connection that waits for a call has no buffer: it takes one from its thread when bytes arrive, and returns it once
/// it contains nothing any longer.
pub(crate) struct Frames {
    /// Empty while no call is arriving.
    buffer: Vec<u8>,
    head: usize,
    tail: usize,
    reassembly: RecordReassembly,
    /// When the incomplete record began to arrive.
    begun: Option<Instant>,
    /// Number of buffers that connections of the server have.
    buffers: Arc<AtomicU64>,
}

/// A complete record.
pub(crate) enum Frame {
    /// A range of [`Frames::bytes`].
    Buffered(Range<usize>),
    /// A record of several fragments.
    Reassembled(Vec<u8>),
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.release();
    }
}

impl Frames {
    /// Counts its buffer in `buffers`.
    pub(crate) fn new(buffers: Arc<AtomicU64>) -> Self {
        Self {
            buffer: Vec::new(),
            head: 0,
            tail: 0,
            reassembly: RecordReassembly::new(MAX_CALL_BYTES),
            begun: None,
            buffers,
        }
    }

    /// Adds bytes that were received already. It may only be called before anything is received.
    pub(crate) fn prefill(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.acquire();
            let tail = bytes.len().min(self.buffer.len());
            self.buffer[..tail].copy_from_slice(&bytes[..tail]);
            self.tail = tail;
        }
    }

    /// Reads once; false at the end of the stream, an error if a record is incomplete for too long. It is cancel-safe.
    pub(crate) async fn receive_within(
        &mut self,
        stream: &mut Stream,
        io_timeout: Duration,
    ) -> io::Result<bool> {
        if self.head == self.tail && !self.reassembly.in_progress() {
            self.begun = None;
            return self.receive(stream).await;
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let late = || io::Error::new(io::ErrorKind::TimedOut, "a call did not arrive completely in time");
        timeout_at(begun + io_timeout, self.receive(stream)).await.map_err(|_| late())?
    }

    /// Reads once; false at the end of the stream. It is cancel-safe.
    async fn receive(&mut self, stream: &mut Stream) -> io::Result<bool> {
        loop {
            if self.head == self.tail {
                self.release();
                stream.readable().await?;
                self.acquire();
            }
            let space = self.space();
            let mut unfilled = ReadBuf::new(&mut self.buffer[space]);
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
        self.buffer = take_receive_buffer();
        self.buffers.fetch_add(1, Ordering::Relaxed);
    }

    fn release(&mut self) {
        self.head = 0;
        self.tail = 0;
        if !self.buffer.is_empty() {
            return_receive_buffer(std::mem::take(&mut self.buffer));
            self.buffers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The part of the buffer that the next bytes may fill.
    fn space(&mut self) -> Range<usize> {
        self.buffer.copy_within(self.head..self.tail, 0);
        self.tail -= self.head;
        self.head = 0;
        if self.tail == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(MAX_CALL_BYTES + FRAGMENT_HEADER_BYTES);
            self.buffer.resize(grown, 0);
        }
        let mut end = self.buffer.len();
        if let Ok(NextRecord::Partial(fragment)) = next_record(&self.buffer[..self.tail], MAX_CALL_BYTES)
            && fragment.len >= LARGE_BYTES
        {
            // Reads no further than the large record, so that it is alone in the buffer and can be handed over
            // by a swap.
            end = end.min(FRAGMENT_HEADER_BYTES + fragment.len).max(self.tail + 1);
        }
        self.tail..end
    }

    /// The next complete record; an error if it is longer than any call.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        let next = self.take()?;
        if next.is_some() {
            self.begun = None;
        }
        Ok(next)
    }

    fn take(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let bytes = &self.buffer[self.head..self.tail];
            if !self.reassembly.in_progress() {
                match next_record(bytes, MAX_CALL_BYTES).map_err(io::Error::other)? {
                    NextRecord::Incomplete => return Ok(None),
                    NextRecord::Whole { start, end } => {
                        let range = self.head + start..self.head + end;
                        self.head += end;
                        return Ok(Some(Frame::Buffered(range)));
                    }
                    NextRecord::Partial(fragment) if fragment.last => return Ok(None),
                    NextRecord::Partial(_) => {}
                }
            }
            let (taken, whole) = self.reassembly.push(bytes).map_err(io::Error::other)?;
            self.head += taken;
            if whole {
                let record = self.reassembly.record().to_vec();
                self.reassembly.reset(0);
                return Ok(Some(Frame::Reassembled(record)));
            }
            if self.head == self.tail {
                return Ok(None);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Moves a record into `other`: by swapping buffers if it is large and alone, otherwise by a copy.
    pub(crate) fn move_record(&mut self, range: Range<usize>, other: &mut Vec<u8>) -> Range<usize> {
        if self.head == self.tail && range.len() >= LARGE_BYTES {
            std::mem::swap(&mut self.buffer, other);
            self.head = 0;
            self.tail = 0;
            if self.buffer.is_empty() {
                self.buffers.fetch_sub(1, Ordering::Relaxed);
            }
            return range;
        }
        let record = &self.buffer[range];
        if other.len() < record.len() {
            other.resize(record.len(), 0);
        }
        other[..record.len()].copy_from_slice(record);
        0..record.len()
    }
}
