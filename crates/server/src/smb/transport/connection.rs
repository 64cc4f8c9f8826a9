//! The task of one connection: frames in bursts, replies in one write per burst, in any order.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use sharebench_smb::wire::header::Header;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::front_ends::admission::Admission;
use crate::front_ends::buffers::{BufferPool, Reusable};
use crate::front_ends::sockets::send_within;
use crate::smb::files::set_info::breaks_handles;
use crate::smb::session::connection::Connection;
use crate::smb::state::ServerState;
use crate::smb::transport::events::ConnectionEvent;
use crate::smb::transport::frames::{Broken, Frames};
use crate::smb::transport::jobs::{Arrival, JOBS, Job};
use crate::smb::transport::replies::{REPLIES, Replies};
use crate::smb::transport::workers::{SmbWorkers, WorkerTask};

/// Replies are sent once this many bytes wait.
const SEND_BYTES: usize = 1 << 20;
/// Replies from this size on are sent without a copy.
const LARGE_REPLY_BYTES: usize = 16 << 10;
/// Bytes of a message in addition to the data of a WRITE: headers, paths and contexts.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Serves a connection until its peer closes it or breaks the protocol. With `workers` the requests run on them,
/// otherwise on this thread.
pub(crate) async fn serve(
    stream: TcpStream,
    state: Arc<ServerState>,
    admission: Admission,
    workers: Option<Arc<SmbWorkers>>,
) {
    let peer = stream.peer_addr().ok();
    let Ok(mut task) = ConnectionTask::new(stream, state, admission, workers) else { return };
    if let Err(error) = task.run().await {
        tracing::debug!(?peer, %error, "SMB connection ended");
    }
}

/// A connection that is being served. Dropping it, also when the task is aborted, closes the files of the client.
struct ConnectionTask {
    stream: TcpStream,
    connection: Arc<Connection>,
    workers: Option<Arc<SmbWorkers>>,
    frames: Frames,
    back: UnboundedSender<ConnectionEvent>,
    done: UnboundedReceiver<ConnectionEvent>,
    /// Numbers of the frames that workers process.
    in_flight: BTreeSet<u64>,
    /// Frames that were passed to workers.
    started: u64,
    /// The number of the last frame whose breaks precede the replies to all later ones; these begin once it is answered or waits.
    precedes: Option<u64>,
    /// Replies to pending requests of a frame whose other replies are not there yet, with its position.
    early_replies: Vec<(u64, Vec<u8>)>,
    /// What follows the replies to all frames up to a number.
    deferred: VecDeque<(u64, DeferredAction)>,
    /// How many of them are CANCEL requests.
    deferred_cancels: usize,
}

/// What follows the replies to the requests that are in progress.
enum DeferredAction {
    /// A message, with its prefix.
    Message(Vec<u8>),
    /// A CANCEL, which may concern one of these requests.
    Cancel(Header),
}

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        match &self.workers {
            // A removal on close may wait for the volume.
            Some(workers) => workers.push(WorkerTask::Close(Arc::clone(&self.connection))),
            None => self.connection.close(),
        }
    }
}

impl ConnectionTask {
    fn new(
        stream: TcpStream,
        state: Arc<ServerState>,
        admission: Admission,
        workers: Option<Arc<SmbWorkers>>,
    ) -> io::Result<Self> {
        let (back, done) = unbounded_channel();
        let frames = Frames::new(state.options.max_transfer as usize + MAX_HEAD_BYTES);
        let remote = stream.peer_addr()?.ip();
        let local = stream.local_addr()?.ip();
        let connection = Connection::new(state, admission, remote, local, back.clone(), workers.clone());
        Ok(Self {
            stream,
            connection: Arc::new(connection),
            workers,
            frames,
            back,
            done,
            in_flight: BTreeSet::new(),
            started: 0,
            precedes: None,
            early_replies: Vec::new(),
            deferred: VecDeque::new(),
            deferred_cancels: 0,
        })
    }

    async fn run(&mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let io_timeout = self.connection.server.options.io_timeout;
        loop {
            let has_capacity = self.has_capacity();
            tokio::select! {
                Some(event) = self.done.recv() => self.handle_events(event).await?,
                // Without capacity nothing is read: further requests wait in the socket, and TCP slows the client
                // down.
                more = self.frames.receive_within(&mut self.stream, io_timeout), if has_capacity => {
                    if !more? {
                        return Ok(());
                    }
                }
            }
            match self.workers.clone() {
                None => self.answer().await?,
                Some(workers) => self.start_jobs(&workers)?,
            }
        }
    }

    /// Answers the frames that have arrived.
    async fn answer(&mut self) -> io::Result<()> {
        let mut out = REPLIES.with(BufferPool::take);
        while let Some(range) = self.frames.next()? {
            let frame = self.frames.bytes_mut().get_mut(range).unwrap_or_default();
            let arrival = Arrival { position: 0, signature_number: self.connection.note_arrival(frame) };
            self.connection.answer(frame, arrival, &mut out).map_err(broken)?;
            // What other requests have caused precedes the replies to the requests after this one.
            while let Ok(event) = self.done.try_recv() {
                if let Some(message) = event.into_message() {
                    out.put(&message);
                }
            }
            // A client that sends many requests at once must not make the server hold all of their replies.
            if out.sent_len() >= SEND_BYTES {
                self.send(&mut out).await?;
            }
        }
        self.send(&mut out).await?;
        REPLIES.with(|pool| pool.give_back(out));
        Ok(())
    }

    /// True if a worker may process a further frame.
    fn has_capacity(&self) -> bool {
        self.in_flight.len() < self.connection.server.options.max_in_flight.max(1)
            && self.precedes.is_none_or(|frame| !self.in_flight.contains(&frame))
    }

    fn start_jobs(&mut self, workers: &SmbWorkers) -> io::Result<()> {
        while self.has_capacity() {
            let Some(range) = self.frames.next()? else { break };
            let mut job = JOBS.with(BufferPool::take);
            job.range = self.frames.move_message(range, &mut job.frame);
            let message = job.frame.get(job.range.clone()).unwrap_or_default();
            let signature_number = self.connection.note_arrival(message);
            self.started += 1;
            if breaks_handles(message) && self.connection.server.files.has_leases() {
                self.precedes = Some(self.started);
            }
            job.arrival = Arrival { position: self.started, signature_number };
            self.in_flight.insert(self.started);
            workers.push(WorkerTask::Answer(job, Arc::clone(&self.connection), self.back.clone()));
        }
        Ok(())
    }

    /// Sends replies and all others that are ready.
    async fn handle_events(&mut self, first: ConnectionEvent) -> io::Result<()> {
        let mut out = REPLIES.with(BufferPool::take);
        let mut next = Some(first);
        while let Some(event) = next {
            match event {
                ConnectionEvent::PendingReply(frame, reply) if self.in_flight.contains(&frame) => {
                    self.early_replies.push((frame, reply));
                }
                ConnectionEvent::PendingReply(_, reply) => out.put(&reply),
                ConnectionEvent::Notification(notice) => {
                    self.deferred.push_back((self.started, DeferredAction::Message(notice.into_frame())));
                }
                ConnectionEvent::Cancel(header) => self.defer_cancel(header),
                ConnectionEvent::Job(job) => self.send_job(job, &mut out).await?,
            }
            self.release_deferred(&mut out);
            next = self.done.try_recv().ok();
        }
        self.send(&mut out).await?;
        REPLIES.with(|pool| pool.give_back(out));
        Ok(())
    }

    /// Keeps a CANCEL. There are never more than requests that they may concern: a client that sends others loses them.
    fn defer_cancel(&mut self, header: Header) {
        if self.deferred_cancels < self.connection.server.options.max_in_flight.max(1) {
            self.deferred_cancels += 1;
            self.deferred.push_back((self.started, DeferredAction::Cancel(header)));
        }
    }

    /// Appends the messages, and performs the cancellations, whose requests have been answered or wait.
    fn release_deferred(&mut self, out: &mut Replies) {
        let oldest = self.in_flight.first().copied().unwrap_or(u64::MAX);
        while let Some((_, deferred)) = self.deferred.pop_front_if(|(last, _)| *last < oldest) {
            match deferred {
                DeferredAction::Message(message) => out.put(&message),
                DeferredAction::Cancel(header) => {
                    self.deferred_cancels -= 1;
                    self.connection.cancel_pending(&header);
                }
            }
        }
    }

    async fn send_job(&mut self, mut job: Job, out: &mut Replies) -> io::Result<()> {
        self.in_flight.remove(&job.arrival.position);
        if job.broken {
            return Err(broken(Broken));
        }
        if job.replies.sent_len() >= LARGE_REPLY_BYTES {
            self.send(out).await?;
            self.send(&mut job.replies).await?;
        } else {
            out.put(&job.replies.to_vec());
        }
        for (_, reply) in self.early_replies.extract_if(.., |(frame, _)| *frame == job.arrival.position) {
            out.put(&reply);
        }
        JOBS.with(|pool| pool.give_back(job));
        Ok(())
    }

    /// Sends waiting replies; an error if the client does not receive them in time.
    async fn send(&self, out: &mut Replies) -> io::Result<()> {
        let io_timeout = self.connection.server.options.io_timeout;
        send_within(&self.stream, &mut out.slices(), io_timeout).await?;
        out.clear();
        Ok(())
    }
}

fn broken(error: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::MemoryVolume;
    use crate::smb::options::SmbServerOptions;

    /// The Linux client waits for ever if the last reply of a compound arrives before the others.
    #[tokio::test]
    async fn a_late_reply_follows_the_replies_to_the_requests_before_it_in_its_frame() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let state =
            Arc::new(ServerState::new(Arc::new(MemoryVolume::new(1 << 20)), SmbServerOptions::default()));
        let admission = state.admissions.admit(peer.ip()).unwrap();
        let mut task = ConnectionTask::new(stream, state, admission, None).unwrap();
        task.in_flight.extend([1, 2]);
        task.handle_events(ConnectionEvent::PendingReply(1, b"early,".to_vec())).await.unwrap();
        // Its other replies are sent already.
        task.handle_events(ConnectionEvent::PendingReply(3, b"late,".to_vec())).await.unwrap();
        for (position, replies) in [(2, &b"second,"[..]), (1, b"first,")] {
            let mut job = Job { arrival: Arrival { position, signature_number: None }, ..Job::default() };
            job.replies.put(replies);
            task.handle_events(ConnectionEvent::Job(job)).await.unwrap();
        }
        drop(task);
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"late,second,first,early,");
    }
}
