//! Splits the bytes of a connection into frames, up to a limit (MS-SMB2 2.1).

use std::io;
use std::ops::Range;
use std::time::Duration;

use sharebench_smb::wire::frame::{PREFIX_LEN, length};
use tokio::net::TcpStream;

use crate::front_ends::frames::ReceiveBuffer;

/// Frames received on a connection.
pub(crate) struct Frames {
    received: ReceiveBuffer,
    /// Largest frame.
    max_bytes: usize,
}

impl Frames {
    /// Accepts frames of at most `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { received: ReceiveBuffer::new(max_bytes + PREFIX_LEN, None), max_bytes }
    }

    /// Reads once; false at the end of the stream, an error if a frame is incomplete for too long. It is cancel-safe.
    pub(crate) async fn receive_within(
        &mut self,
        stream: &mut TcpStream,
        io_timeout: Duration,
    ) -> io::Result<bool> {
        let frame_len = self.frame_len().ok().flatten();
        self.received.receive_within(stream, io_timeout, false, frame_len).await
    }

    /// Length of the frame at the head with its prefix, if that has arrived; an error if it is longer than any frame.
    fn frame_len(&self) -> io::Result<Option<usize>> {
        let Some(prefix) = self.received.unused().first_chunk() else { return Ok(None) };
        match length(*prefix) {
            Some(len) if len <= self.max_bytes => Ok(Some(PREFIX_LEN + len)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of an accepted length")),
        }
    }

    /// The range of the next complete message in [`Self::bytes_mut`].
    pub(crate) fn next(&mut self) -> io::Result<Option<Range<usize>>> {
        let complete = self.frame_len()?.filter(|len| *len <= self.received.unused().len());
        let frame = complete.map(|len| self.received.take_frame(len));
        Ok(frame.map(|frame| frame.start + PREFIX_LEN..frame.end))
    }

    /// The received bytes. A message may be decrypted in place.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.received.bytes_mut()
    }

    /// Moves a message into `other`: by swapping buffers if it is large and alone, otherwise by a copy.
    pub(crate) fn move_message(&mut self, range: Range<usize>, other: &mut Vec<u8>) -> Range<usize> {
        self.received.move_message(range, other)
    }
}

/// The client broke the protocol, so that the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client broke the protocol")]
pub(crate) struct Broken;

/// Sets the length of a frame that begins with an empty prefix.
pub(crate) fn finish_frame(frame: &mut [u8]) {
    let len = frame.len().saturating_sub(PREFIX_LEN) as u32;
    if let Some(prefix) = frame.first_chunk_mut::<PREFIX_LEN>() {
        *prefix = len.to_be_bytes();
    }
}
