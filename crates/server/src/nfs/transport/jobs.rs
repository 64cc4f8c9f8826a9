//! Calls for worker threads, and the buffers of calls and replies.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use sharebench_nfs::xdr::Writer;

use crate::front_ends::buffers::{BufferPool, Reusable};
use crate::nfs::v4::Peer;

thread_local! {
    /// Jobs for workers.
    pub(crate) static JOBS: BufferPool<Job> = const { BufferPool::new() };
    /// Writers for the replies of one burst of calls.
    pub(crate) static REPLIES: BufferPool<Writer> = const { BufferPool::new() };
}

/// A call on its way to a worker, and its reply on the way back. It is reused for later calls.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) call: Vec<u8>,
    /// The range of the record within `call`.
    pub(crate) record: Range<usize>,
    pub(crate) reply: Writer,
    /// The bytes were not a call, so that the connection must be closed.
    pub(crate) garbage: bool,
    /// The connection that the call came from.
    pub(crate) peer: Option<Arc<Peer>>,
    /// The sender of the datagram that the call came in; none for a connection.
    pub(crate) datagram: Option<SocketAddr>,
}

impl Reusable for Job {
    fn memory(&self) -> usize {
        self.call.len() + self.reply.memory()
    }

    fn clear(&mut self) {
        self.reply.clear();
        self.datagram = None;
    }
}

impl Reusable for Writer {
    fn memory(&self) -> usize {
        Self::memory(self)
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}
