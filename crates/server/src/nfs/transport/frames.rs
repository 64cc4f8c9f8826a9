//! Splits the bytes of a connection into records, up to a limit.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sharebench_nfs::record::{FRAGMENT_HEADER_BYTES, NextRecord, RecordReassembly, next_record};
use sharebench_tls::Stream;

use crate::front_ends::frames::ReceiveBuffer;

/// Largest call: a WRITE of 1 MiB with its header.
pub(crate) const MAX_CALL_BYTES: usize = (1 << 20) + (64 << 10);

/// Records received on a connection.
pub(crate) struct Frames {
    received: ReceiveBuffer,
    reassembly: RecordReassembly,
}

/// A complete record.
pub(crate) enum Frame {
    /// A range of [`Frames::bytes`].
    Buffered(Range<usize>),
    /// A record of several fragments.
    Reassembled(Vec<u8>),
}

impl Frames {
    /// Counts its buffer in `buffers`.
    pub(crate) fn new(buffers: Arc<AtomicU64>) -> Self {
        let received = ReceiveBuffer::new(MAX_CALL_BYTES + FRAGMENT_HEADER_BYTES, Some(buffers));
        Self { received, reassembly: RecordReassembly::new(MAX_CALL_BYTES) }
    }

    /// Adds bytes that were received already. It may only be called before anything is received.
    pub(crate) fn prefill(&mut self, bytes: &[u8]) {
        self.received.prefill(bytes);
    }

    /// Reads once; false at the end of the stream, an error if a record is incomplete for too long. It is cancel-safe.
    pub(crate) async fn receive_within(
        &mut self,
        stream: &mut Stream,
        io_timeout: Duration,
    ) -> io::Result<bool> {
        let begun = self.reassembly.in_progress();
        let record_len = match next_record(self.received.unused(), MAX_CALL_BYTES) {
            Ok(NextRecord::Partial(fragment)) => Some(FRAGMENT_HEADER_BYTES + fragment.len),
            _ => None,
        };
        self.received.receive_within(stream, io_timeout, begun, record_len).await
    }

    /// The next complete record; an error if it is longer than any call.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let bytes = self.received.unused();
            if !self.reassembly.in_progress() {
                match next_record(bytes, MAX_CALL_BYTES).map_err(io::Error::other)? {
                    NextRecord::Incomplete => return Ok(None),
                    NextRecord::Whole { start, end } => {
                        let taken = self.received.take_frame(end);
                        return Ok(Some(Frame::Buffered(taken.start + start..taken.end)));
                    }
                    NextRecord::Partial(fragment) if fragment.last => return Ok(None),
                    NextRecord::Partial(_) => {}
                }
            }
            let (taken, whole) = self.reassembly.push(bytes).map_err(io::Error::other)?;
            self.received.take_part(taken);
            if whole {
                self.received.end_frame();
                let record = self.reassembly.record().to_vec();
                self.reassembly.reset(0);
                return Ok(Some(Frame::Reassembled(record)));
            }
            if self.received.unused().is_empty() {
                return Ok(None);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.received.bytes()
    }

    /// Moves a record into `other`: by swapping buffers if it is large and alone, otherwise by a copy.
    pub(crate) fn move_record(&mut self, range: Range<usize>, other: &mut Vec<u8>) -> Range<usize> {
        self.received.move_message(range, other)
    }
}
