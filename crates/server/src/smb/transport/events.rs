//! What the task of a connection receives from other tasks and threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sharebench_smb::wire::header::Header;

use crate::smb::transport::jobs::Job;

/// What the task of a connection has to do.
pub(crate) enum ConnectionEvent {
    /// The replies to a frame that a worker processed.
    Job(Job),
    /// A reply to a pending request, with its prefix. The replies to the requests before it in its compound precede it, which are
    /// those of the frame at this position: a client may wait for them in their order.
    PendingReply(u64, Vec<u8>),
    /// A message that no request caused, with its prefix. It follows the replies to the requests that are in progress,
    /// because it may concern a file that one of them opens.
    Notification(Notice),
    /// A CANCEL of a request that did not wait. It is repeated once the requests that are in progress have been answered or
    /// wait, because it may concern one of them.
    Cancel(Header),
}

impl ConnectionEvent {
    /// The bytes of a message that was not sent.
    pub(crate) fn into_message(self) -> Option<Vec<u8>> {
        match self {
            Self::PendingReply(_, frame) => Some(frame),
            Self::Notification(notice) => Some(notice.into_frame()),
            Self::Job(_) | Self::Cancel(_) => None,
        }
    }
}

/// A message that the client did not request, counted while it waits for the task of its connection.
pub(crate) struct Notice {
    frame: Vec<u8>,
    undelivered: Arc<AtomicUsize>,
}

impl Notice {
    /// Counts a message.
    pub(crate) fn new(frame: Vec<u8>, undelivered: &Arc<AtomicUsize>) -> Self {
        undelivered.fetch_add(1, Ordering::Relaxed);
        Self { frame, undelivered: Arc::clone(undelivered) }
    }

    /// The message, which no longer waits.
    pub(crate) fn into_frame(mut self) -> Vec<u8> {
        std::mem::take(&mut self.frame)
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        self.undelivered.fetch_sub(1, Ordering::Relaxed);
    }
}
