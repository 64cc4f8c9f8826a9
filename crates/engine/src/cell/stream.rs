//! A buffered stream like those of C's stdio: the application reads and writes records, and the wire carries whole
//! buffers.
//!
//! Records gather in the stream's buffer, which is written when it is full and when the stream ends, and
//! read ahead as a whole: every request is as long as the buffer, only the last one of a file may be
//! shorter. Records larger than the buffer go through it in pieces. An operation is one record, from the
//! call to its return; most return without a request, and the last one waits until the buffer is written.

use sharebench_model::{DataOp, FileRef, OpError, Stability, StepError};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::record::meter::Meter;
use crate::record::request::{SLOT, transfer};
use crate::record::tally::Tally;
use crate::record::verify::verify;

/// A pass of records through a stream, from the start of the file to its end.
pub(crate) struct StreamPass<'a, 'b> {
    context: &'a mut PassContext<'b>,
    session: &'a mut dyn Session,
    file: &'a mut FileState,
    handle: FileRef,
    /// The application's own buffer, as long as a record.
    record: Vec<u8>,
    stream: Stream,
}

/// The position of a stream in its file and in its buffer.
struct Stream {
    /// Offset of the buffer in the file.
    start: u64,
    /// Bytes of the buffer that the application has used.
    used: usize,
    /// Bytes of the buffer that hold data to be read.
    filled: usize,
    /// The buffer could not be read: what the application gets of it is nothing.
    failed: bool,
    /// Length of the buffer.
    len: usize,
}

impl<'a, 'b> StreamPass<'a, 'b> {
    /// A stream with a buffer of `buffer` bytes over an open file.
    pub fn new(
        context: &'a mut PassContext<'b>,
        session: &'a mut dyn Session,
        file: &'a mut FileState,
        handle: FileRef,
        record_size: u32,
        buffer: u32,
    ) -> Self {
        // Not zeros: pages that were never touched would be faulted in by the first measured copy.
        let record = vec![1; record_size as usize];
        let stream = Stream { start: 0, used: 0, filled: 0, failed: false, len: buffer as usize };
        Self { context, session, file, handle, record, stream }
    }

    /// Writes the whole file with `content`, or reads it where there is none.
    pub async fn run(mut self, content: Option<Content>, tally: &mut Tally) -> Result<(), StepError> {
        let meter = Meter::start(self.context.clock, self.session);
        let result = self.drive(content, tally).await;
        meter.stop(self.context.clock, self.session, tally);
        result
    }

    async fn drive(&mut self, content: Option<Content>, tally: &mut Tally) -> Result<(), StepError> {
        let len = self.record.len() as u64;
        let size = self.file.size;
        let mut idle_since = self.context.clock.now();
        for offset in (0..size / len).map(|record| record * len) {
            if self.context.stop.is_stopped() {
                return Err(StepError::Stopped);
            }
            if let Some(content) = content {
                stamp::fill(&mut self.record, content, offset);
            }
            let started = self.context.clock.now();
            tally.generator_ns += started - idle_since;
            let outcome = match content {
                Some(content) => self.put(content, offset + len == size, tally).await,
                None => self.get(size, tally).await,
            };
            let ended = self.context.clock.now();
            idle_since = ended;
            tally.operation(started, ended);
            tally.busy_ns += ended - started;
            let whole = outcome?;
            if content.is_none() && whole {
                tally.bytes.read += len;
                let expected = self.file.expected(offset, self.record.len() as u32);
                let how = self.context.verify;
                let verified = verify(how, &self.file.path, &self.record, offset, expected);
                tally.verified += verified.bytes;
                tally.outcome(verified.result)?;
            }
        }
        Ok(())
    }

    /// Takes the record into the buffer and writes the buffer each time it is full, or at the `last` record.
    async fn put(&mut self, content: Content, last: bool, tally: &mut Tally) -> Result<bool, OpError> {
        let mut taken = 0;
        while taken < self.record.len() {
            let piece = (self.record.len() - taken).min(self.stream.len - self.stream.used);
            let from = self.stream.used;
            self.session.buffer(SLOT)[from..from + piece].copy_from_slice(&self.record[taken..taken + piece]);
            taken += piece;
            self.stream.used += piece;
            // Every request is as long as the buffer; only the last one of a file may be shorter.
            if self.stream.used == self.stream.len || (last && taken == self.record.len()) {
                self.write_out(content, tally).await?;
            }
        }
        Ok(true)
    }

    async fn write_out(&mut self, content: Content, tally: &mut Tally) -> Result<(), OpError> {
        let file = self.handle;
        let offset = self.stream.start;
        let len = self.stream.used as u32;
        let write = DataOp::Write { file, offset, len, stability: Stability::Unstable };
        let outcome = transfer(self.session, &mut self.context.deadline, write).await;
        self.stream.start += u64::from(len);
        self.stream.used = 0;
        if outcome.is_ok() {
            self.file.written(offset, len, content.generation);
            tally.bytes.written += u64::from(len);
        } else {
            self.file.lost(offset, len);
        }
        tally.outcome(outcome)
    }

    /// Fills the record from the buffer, which is read anew each time it is used up; false when a part of
    /// the record could not be read.
    async fn get(&mut self, size: u64, tally: &mut Tally) -> Result<bool, OpError> {
        let mut given = 0;
        let mut whole = true;
        while given < self.record.len() {
            if self.stream.used == self.stream.filled {
                self.read_in(size, tally).await?;
            }
            let piece = (self.record.len() - given).min(self.stream.filled - self.stream.used);
            let from = self.stream.used;
            if !self.stream.failed {
                self.record[given..given + piece]
                    .copy_from_slice(&self.session.buffer(SLOT)[from..from + piece]);
            }
            whole &= !self.stream.failed;
            given += piece;
            self.stream.used += piece;
        }
        Ok(whole)
    }

    async fn read_in(&mut self, size: u64, tally: &mut Tally) -> Result<(), OpError> {
        let offset = self.stream.start + self.stream.filled as u64;
        let len = (self.stream.len as u64).min(size - offset) as u32;
        let read = DataOp::Read { file: self.handle, offset, len };
        let outcome = transfer(self.session, &mut self.context.deadline, read).await;
        let failed = outcome.is_err();
        let filled = len as usize;
        self.stream = Stream { start: offset, used: 0, filled, failed, len: self.stream.len };
        tally.outcome(outcome)
    }
}
