//! What worker threads do for connections, if the volume blocks.

use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::workers::Workers;
use crate::nfs::state::ServerState;
use crate::nfs::transport::jobs::Job;

/// The queue of the worker threads.
pub(crate) type NfsWorkers = Workers<CallTask>;

/// A call for a worker thread.
pub(crate) struct CallTask {
    pub(crate) job: Job,
    /// Where the job goes with its reply.
    pub(crate) back: UnboundedSender<Job>,
}

impl CallTask {
    /// Performs the call.
    pub(crate) fn run(self, state: &ServerState) {
        let Self { mut job, back } = self;
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
