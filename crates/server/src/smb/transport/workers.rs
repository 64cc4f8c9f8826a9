//! What worker threads do for connections, if the volume blocks.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::workers::Workers;
use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::DeferredRequest;
use crate::smb::transport::events::ConnectionEvent;
use crate::smb::transport::jobs::Job;

/// The queue of the worker threads.
pub(crate) type SmbWorkers = Workers<WorkerTask>;

/// A task of a worker thread.
pub(crate) enum WorkerTask {
    /// Answers a frame, and returns it with its replies.
    Answer(Job, Arc<Connection>, UnboundedSender<ConnectionEvent>),
    /// Answers a request that need not wait any longer.
    Resume(Box<DeferredRequest>, Arc<Connection>),
    /// Closes the open files of a connection that has ended.
    Close(Arc<Connection>),
}

impl WorkerTask {
    /// True for a task that is performed after the end of all connections.
    pub(crate) fn is_close(&self) -> bool {
        matches!(self, Self::Close(_))
    }

    /// Performs the task.
    pub(crate) fn run(self) {
        match self {
            Self::Answer(mut job, connection, back) => {
                let Job { frame, range, replies, broken, arrival } = &mut job;
                let frame = frame.get_mut(range.clone()).unwrap_or_default();
                *broken = connection.answer(frame, *arrival, replies).is_err();
                // The connection may be closed; then nobody needs the replies.
                let _ = back.send(ConnectionEvent::Job(job));
            }
            Self::Resume(request, connection) => connection.answer_deferred(*request),
            Self::Close(connection) => connection.close(),
        }
    }
}
