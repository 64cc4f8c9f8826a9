//! Splits the bytes of a connection into frames, up to a limit (MS-SMB2 2.1).

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use sharebench_smb::wire::frame::{PREFIX_LEN, length};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::smb::transport::buffers::{return_receive_buffer, take_receive_buffer};

/// A frame from this size on is received alone, so that its buffer can be passed on without a copy.
const LARGE_BYTES: usize = 16 << 10;

/// Bytes received on a connection.
///
/// A connection that waits for a request has no buffer: it takes one from its thread when bytes arrive, and returns it
/// once it contains nothing any longer.
pub(crate) struct Frames {
    /// Empty while no frame is arriving.
    buffer: Vec<u8>,
    head: usize,
    tail: usize,
    /// Largest frame.
    max_bytes: usize,
    /// When the incomplete frame began to arrive.
    begun: Option<Instant>,
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.release();
    }
}

impl Frames {
    /// Accepts frames of at most `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), head: 0, tail: 0, max_bytes, begun: None }
    }

    /// Reads once; false at the end of the stream, an error if a frame is incomplete for too long. It is cancel-safe.
    pub(crate) async fn receive_within(
        &mut self,
        stream: &mut TcpStream,
        io_timeout: Duration,
    ) -> io::Result<bool> {
        if self.head == self.tail {
            self.begun = None;
            return self.receive(stream).await;
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let late = || io::Error::new(io::ErrorKind::TimedOut, "a message did not arrive completely in time");
        timeout_at(begun + io_timeout, self.receive(stream)).await.map_err(|_| late())?
    }

    async fn receive(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        loop {
            if self.head == self.tail {
                self.release();
                stream.readable().await?;
                self.buffer = take_receive_buffer();
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

    fn release(&mut self) {
        self.head = 0;
        self.tail = 0;
        if !self.buffer.is_empty() {
            return_receive_buffer(std::mem::take(&mut self.buffer));
        }
    }

    /// Length of the frame at the head, if its prefix has arrived; an error if it is longer than any frame.
    fn frame_len(&self) -> io::Result<Option<usize>> {
        let Some(prefix) = self.buffer[self.head..self.tail].first_chunk() else { return Ok(None) };
        match length(*prefix) {
            Some(len) if len <= self.max_bytes => Ok(Some(len)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of an accepted length")),
        }
    }

    /// The part of the buffer that the next bytes may fill.
    fn space(&mut self) -> Range<usize> {
        self.buffer.copy_within(self.head..self.tail, 0);
        self.tail -= self.head;
        self.head = 0;
        if self.tail == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(self.max_bytes + PREFIX_LEN).max(self.tail + 1);
            self.buffer.resize(grown, 0);
        }
        let mut end = self.buffer.len();
        if let Ok(Some(len)) = self.frame_len()
            && len >= LARGE_BYTES
        {
            // Reads no further than the large frame, so that it is alone in the buffer and can be handed over
            // by a swap.
            end = end.min(PREFIX_LEN + len).max(self.tail + 1);
        }
        self.tail..end
    }

    /// The range of the next complete message in [`Self::bytes_mut`].
    pub(crate) fn next(&mut self) -> io::Result<Option<Range<usize>>> {
        let Some(len) = self.frame_len()? else { return Ok(None) };
        let start = self.head + PREFIX_LEN;
        let end = start + len;
        if end > self.tail {
            return Ok(None);
        }
        self.head = end;
        self.begun = None;
        Ok(Some(start..end))
    }

    /// The received bytes. A message may be decrypted in place.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Moves a message into `other`: by swapping buffers if it is large and alone, otherwise by a copy.
    pub(crate) fn move_message(&mut self, range: Range<usize>, other: &mut Vec<u8>) -> Range<usize> {
        if self.head == self.tail && range.len() >= LARGE_BYTES {
            std::mem::swap(&mut self.buffer, other);
            self.head = 0;
            self.tail = 0;
            return range;
        }
        let message = &self.buffer[range];
        if other.len() < message.len() {
            other.resize(message.len(), 0);
        }
        other[..message.len()].copy_from_slice(message);
        0..message.len()
    }
}
