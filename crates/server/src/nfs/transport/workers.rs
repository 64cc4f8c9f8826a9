//! Worker threads for a volume that blocks, so that one slow call does not delay the others.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sharebench_nfs::xdr::Writer;
use tokio::sync::mpsc::UnboundedSender;

use crate::nfs::state::ServerState;
use crate::nfs::v4::Peer;

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

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Job, UnboundedSender<Job>)>,
    closed: bool,
}

/// The jobs that wait for a thread. Each connection limits the number of its jobs.
#[derive(Default)]
pub(crate) struct Workers {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Workers {
    /// Starts `count` threads.
    pub(crate) fn start(
        count: usize,
        state: &Arc<ServerState>,
    ) -> io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let workers = Arc::new(Self::default());
        let spawn = |_| {
            let workers = Arc::clone(&workers);
            let state = Arc::clone(state);
            std::thread::Builder::new().name("nfs-worker".into()).spawn(move || workers.work(&state))
        };
        let threads: io::Result<Vec<_>> = (0..count).map(spawn).collect();
        if threads.is_err() {
            workers.close();
        }
        Ok((Arc::clone(&workers), threads?))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a job to the next free thread, which returns it through `back`.
    pub(crate) fn push(&self, job: Job, back: UnboundedSender<Job>) {
        self.queue().jobs.push_back((job, back));
        self.arrived.notify_one();
    }

    /// Ends the threads after their current jobs.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.jobs.clear();
        self.arrived.notify_all();
    }

    fn next(&self) -> Option<(Job, UnboundedSender<Job>)> {
        let mut queue = self.queue();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self, state: &ServerState) {
        while let Some((mut job, back)) = self.next() {
            let Job { call, record, reply, garbage, peer, datagram } = &mut job;
            let record = call.get(record.clone()).unwrap_or_default();
            match *datagram {
                Some(client) => state.answer_datagram(client, record, reply),
                None => *garbage = peer.take().is_none_or(|peer| state.answer(&peer, record, reply).is_err()),
            }
            // The connection may be closed; then nobody needs the reply.
            let _ = back.send(job);
        }
    }
}
