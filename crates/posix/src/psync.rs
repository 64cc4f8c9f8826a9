//! A session of one slot: each operation is one blocking system call inside `submit`.

use std::future::ready;
use std::task::{Context, Poll};

use sharebench_model::{DataOp, Facts, MetaOp, MetaReply, OpError, Reply, Slot, Stability, WireCount};
use sharebench_target::{LocalBoxFuture, Session};

use crate::buffers::Buffers;
use crate::errno::Errno;
use crate::session_core::{SessionCore, copy_mapped, too_long};
use crate::sys;

/// A session with one slot, whose operations are blocking system calls.
///
/// [`Session::submit`] performs the operation at once and keeps its reply for the next poll, so that a job with queue
/// depth 1 costs one system call per record and nothing else. The calling thread is blocked meanwhile: a job with
/// such a session owns its thread.
#[derive(Debug)]
pub(crate) struct PsyncSession {
    pub core: SessionCore,
    pub buffers: Buffers,
    /// The reply that the next poll gives; more than one only when a caller does not poll in between.
    pub answered: Vec<Reply>,
}

impl PsyncSession {
    pub fn new(core: SessionCore, buffers: Buffers) -> Self {
        Self { core, buffers, answered: Vec::with_capacity(2) }
    }

    #[inline]
    fn perform(&mut self, slot: Slot, op: DataOp, requests: &mut u32) -> Result<u32, OpError> {
        if let Some(mapping) = self.core.mapping(op) {
            return copy_mapped(mapping, op, self.buffers.slot(slot));
        }
        match op {
            DataOp::Read { file, offset, len } => {
                let fd = self.core.files.fd(file)?;
                let size = self.buffers.slot_bytes();
                let into = self.buffers.slot(slot).get_mut(..len as usize);
                let into = into.ok_or_else(|| too_long(len, size))?;
                *requests = 1;
                match sys::pread(fd, into, offset) {
                    Ok(bytes) => Ok(bytes as u32),
                    Err(errno) => Err(self.core.failure(errno, "pread")),
                }
            }
            DataOp::Write { file, offset, len, stability } => {
                let fd = self.core.files.fd(file)?;
                let size = self.buffers.slot_bytes();
                let from = self.buffers.slot(slot).get(..len as usize);
                let from = from.ok_or_else(|| too_long(len, size))?;
                match write_all(fd, from, offset, stability, requests) {
                    Ok(()) => Ok(len),
                    Err(errno) => Err(self.core.failure(errno, "pwrite")),
                }
            }
            DataOp::Flush { file } => {
                let fd = self.core.files.fd(file)?;
                *requests = 1;
                // fsync rather than fdatasync: what file servers do for COMMIT and FLUSH.
                sys::fsync(fd).map_err(|errno| errno.at("fsync"))?;
                Ok(0)
            }
        }
    }
}

/// Writes everything; a short write is tried again so that the system says why it was short.
fn write_all(
    fd: i32,
    mut from: &[u8],
    mut offset: u64,
    stability: Stability,
    requests: &mut u32,
) -> Result<(), Errno> {
    loop {
        *requests += 1;
        let bytes = match stability {
            Stability::Unstable => sys::pwrite(fd, from, offset)?,
            Stability::Durable => sys::pwrite_dsync(fd, from, offset)?,
        };
        from = from.get(bytes..).unwrap_or_default();
        offset += bytes as u64;
        match (from.is_empty(), bytes) {
            (true, _) => return Ok(()),
            // Nothing written and no reason given: trying again would never end.
            (false, 0) => return Err(Errno(libc::EIO)),
            _ => {}
        }
    }
}

impl Session for PsyncSession {
    fn facts(&self) -> Facts {
        self.core.facts.clone()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        let mut requests = 0;
        let result = self.perform(slot, op, &mut requests);
        self.core.requests += u64::from(requests);
        self.answered.push(Reply { slot, result, requests });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        let reply = self.core.call(op);
        Box::pin(ready(reply))
    }

    fn wire(&self) -> WireCount {
        WireCount { requests: self.core.requests, ..WireCount::default() }
    }

    fn mount_wire(&self) -> Option<WireCount> {
        self.core.counter.as_ref()?.read()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}
