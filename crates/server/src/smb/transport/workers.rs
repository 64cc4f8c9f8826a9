//! Worker threads for a volume that blocks, so that one slow request does not delay the others.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sharebench_smb::wire::header::Header;
use tokio::sync::mpsc::UnboundedSender;

use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::ParkedRequest;
use crate::smb::transport::buffers::Replies;
use crate::smb::transport::client_connections::Notice;

/// A frame on its way to a worker, and its replies on the way back. It is reused for later frames.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) frame: Vec<u8>,
    /// The range of the message within `frame`.
    pub(crate) range: Range<usize>,
    pub(crate) replies: Replies,
    /// The client broke the protocol, so that the connection must be closed.
    pub(crate) broken: bool,
    pub(crate) arrival: Arrival,
}

/// What is known of a frame when it arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    /// Position among the frames of the connection that workers process; 0 without workers.
    pub(crate) position: u64,
    /// The number of the message for signatures of SMB1.
    pub(crate) signature_number: Option<u32>,
}

/// Replies for the task that serves a connection.
pub(crate) enum Delivery {
    /// The replies to a frame that a worker processed.
    Job(Job),
    /// A reply to a request that waited, with its prefix. The replies to the requests before it in its compound precede it, which are
    /// those of the frame at this position: a client may wait for them in their order.
    Late(u64, Vec<u8>),
    /// A message that no request caused, with its prefix. It follows the replies to the requests that are in progress,
    /// because it may concern a file that one of them opens.
    Notification(Notice),
    /// A CANCEL of a request that did not wait. It is repeated once the requests that are in progress have been answered or
    /// wait, because it may concern one of them.
    Cancel(Header),
}

impl Delivery {
    /// The bytes of a message that was not sent.
    pub(crate) fn into_late(self) -> Option<Vec<u8>> {
        match self {
            Self::Late(_, frame) => Some(frame),
            Self::Notification(notice) => Some(notice.into_frame()),
            Self::Job(_) | Self::Cancel(_) => None,
        }
    }
}

enum Task {
    Answer(Job, Arc<Connection>, UnboundedSender<Delivery>),
    /// A request need not wait any longer.
    Resume(Box<ParkedRequest>, Arc<Connection>),
    /// The connection has ended: its open files are closed.
    Close(Arc<Connection>),
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    closed: bool,
}

/// The frames that wait for a thread. Each connection limits the number of its frames.
#[derive(Default)]
pub(crate) struct Workers {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Workers {
    /// Starts `count` threads.
    pub(crate) fn start(count: usize) -> io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let workers = Arc::new(Self::default());
        let spawn = |_| {
            let workers = Arc::clone(&workers);
            std::thread::Builder::new().name("smb-worker".into()).spawn(move || workers.work())
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

    fn push(&self, task: Task) {
        self.queue().tasks.push_back(task);
        self.arrived.notify_one();
    }

    /// Passes a frame to the next free thread, which returns the replies through `back`.
    pub(crate) fn answer(&self, job: Job, connection: Arc<Connection>, back: UnboundedSender<Delivery>) {
        self.push(Task::Answer(job, connection, back));
    }

    /// Answers a request that has waited on the next free thread.
    pub(crate) fn resume(&self, request: ParkedRequest, connection: Arc<Connection>) {
        self.push(Task::Resume(Box::new(request), connection));
    }

    /// Closes the open files of a connection on the next free thread.
    pub(crate) fn close_connection(&self, connection: Arc<Connection>) {
        self.push(Task::Close(connection));
    }

    /// Ends the threads after their current frames, once the files of the connections that have ended are closed.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.tasks.retain(|task| matches!(task, Task::Close(_)));
        self.arrived.notify_all();
    }

    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.closed {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            match task {
                Task::Answer(mut job, connection, back) => {
                    let Job { frame, range, replies, broken, arrival } = &mut job;
                    let frame = frame.get_mut(range.clone()).unwrap_or_default();
                    *broken = connection.answer(frame, *arrival, replies).is_err();
                    // The connection may be closed; then nobody needs the replies.
                    let _ = back.send(Delivery::Job(job));
                }
                Task::Resume(request, connection) => connection.answer_parked(*request),
                Task::Close(connection) => connection.close(),
            }
        }
    }
}
