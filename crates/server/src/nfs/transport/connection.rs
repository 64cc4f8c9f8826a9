//! One connection: calls in bursts, replies in one write per burst, in any order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sharebench_nfs::xdr::{Writer, XdrError};
use sharebench_tls::Stream;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::front_ends::admission::Admission;
use crate::front_ends::buffers::BufferPool;
use crate::nfs::state::ServerState;
use crate::nfs::transport::frames::{Frame, Frames};
use crate::nfs::transport::jobs::{JOBS, Job, REPLIES};
use crate::nfs::transport::stream::{open, send};
use crate::nfs::transport::workers::{CallTask, NfsWorkers};
use crate::nfs::v4::{Callbacks, Peer};

/// Replies are sent once this many bytes wait.
const SEND_BYTES: usize = 1 << 20;
/// Replies from this size on are sent without a copy.
const LARGE_REPLY_BYTES: usize = 16 << 10;

/// Notes a complete call, which makes a connection one of a client.
fn note_call(admission: &Admission) {
    admission.note_request();
    if !admission.is_established() {
        admission.establish();
    }
}

fn garbage(error: XdrError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Serves a connection until its peer closes it or breaks the protocol. With `workers` the calls run on them, otherwise
/// on this thread.
pub(crate) async fn serve(
    stream: TcpStream,
    state: Arc<ServerState>,
    admission: Admission,
    workers: Option<Arc<NfsWorkers>>,
) {
    let peer = stream.peer_addr().ok();
    let (way_back, callbacks) = Peer::new();
    let connection = ClosingPeer(way_back);
    let ended = async {
        let Some((stream, frames)) = open(stream, &state, &connection.0).await? else { return Ok(()) };
        let link = ClientLink { stream, frames, callbacks, io_timeout: state.options.io_timeout };
        let peer = &connection.0;
        match workers {
            None => serve_inline(link, &state, &admission, peer).await,
            Some(workers) => {
                let (back, done) = unbounded_channel();
                let peer = Arc::clone(peer);
                let connection =
                    WorkerConnection { link, state, admission, workers, back, done, in_flight: 0, peer };
                connection.serve().await
            }
        }
    };
    if let Err(error) = ended.await {
        tracing::debug!(?peer, %error, "NFS connection ended");
    }
}

/// Ends the use of a connection for callbacks, also if its task is aborted.
struct ClosingPeer(Arc<Peer>);

impl Drop for ClosingPeer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a connection exchanges with its client: calls, replies, and the callbacks of the server.
struct ClientLink {
    stream: Stream,
    frames: Frames,
    callbacks: Callbacks,
    io_timeout: Duration,
}

impl ClientLink {
    /// Receives from the client, and sends the callbacks that are due meanwhile; false at the end of the stream.
    async fn receive(&mut self) -> io::Result<bool> {
        loop {
            let callback = tokio::select! {
                biased;
                received = self.frames.receive_within(&mut self.stream, self.io_timeout) => return received,
                Some(callback) = self.callbacks.recv() => callback,
            };
            self.send_callback(&callback).await?;
        }
    }

    /// Sends a callback of the server.
    async fn send_callback(&mut self, callback: &[u8]) -> io::Result<()> {
        let mut out = REPLIES.with(BufferPool::take);
        out.raw(callback);
        self.send(&mut out).await?;
        REPLIES.with(|pool| pool.give_back(out));
        Ok(())
    }

    /// Sends replies; an error if the client does not receive them in time.
    async fn send(&mut self, out: &mut Writer) -> io::Result<()> {
        send(&mut self.stream, out, self.io_timeout).await
    }
}

async fn serve_inline(
    mut link: ClientLink,
    state: &ServerState,
    admission: &Admission,
    peer: &Arc<Peer>,
) -> io::Result<()> {
    loop {
        let mut out = REPLIES.with(BufferPool::take);
        while let Some(frame) = link.frames.next()? {
            let record = match &frame {
                Frame::Buffered(range) => &link.frames.bytes()[range.clone()],
                Frame::Reassembled(record) => record,
            };
            state.answer(peer, record, &mut out).map_err(garbage)?;
            note_call(admission);
            // A client that sends many calls at once must not make the server hold all of their replies.
            if out.len() >= SEND_BYTES {
                link.send(&mut out).await?;
            }
        }
        link.send(&mut out).await?;
        REPLIES.with(|pool| pool.give_back(out));
        if !link.receive().await? {
            return Ok(());
        }
    }
}

/// A connection whose calls run on workers.
struct WorkerConnection {
    link: ClientLink,
    state: Arc<ServerState>,
    admission: Admission,
    workers: Arc<NfsWorkers>,
    back: UnboundedSender<Job>,
    done: UnboundedReceiver<Job>,
    in_flight: usize,
    peer: Arc<Peer>,
}

impl WorkerConnection {
    async fn serve(mut self) -> io::Result<()> {
        loop {
            self.start_calls()?;
            let has_capacity = self.in_flight < self.state.options.max_in_flight.max(1);
            tokio::select! {
                Some(job) = self.done.recv() => self.send_replies(job).await?,
                Some(callback) = self.link.callbacks.recv() => self.link.send_callback(&callback).await?,
                // Without capacity nothing is read: further calls wait in the socket, and TCP slows the client
                // down.
                more = self.link.frames.receive_within(&mut self.link.stream, self.link.io_timeout), if has_capacity => {
                    if !more? {
                        return self.finish().await;
                    }
                }
            }
        }
    }

    /// Answers the calls in flight of a client that sends no more but still receives.
    async fn finish(&mut self) -> io::Result<()> {
        while self.in_flight > 0
            && let Some(job) = self.done.recv().await
        {
            self.send_replies(job).await?;
        }
        Ok(())
    }

    fn start_calls(&mut self) -> io::Result<()> {
        while self.in_flight < self.state.options.max_in_flight.max(1) {
            let Some(frame) = self.link.frames.next()? else { break };
            let mut job = JOBS.with(BufferPool::take);
            job.record = match frame {
                Frame::Buffered(range) => self.link.frames.move_record(range, &mut job.call),
                Frame::Reassembled(record) => {
                    job.call = record;
                    0..job.call.len()
                }
            };
            self.in_flight += 1;
            job.peer = Some(Arc::clone(&self.peer));
            self.workers.push(CallTask { job, back: self.back.clone() });
        }
        Ok(())
    }

    /// Sends a reply and all others that are ready.
    async fn send_replies(&mut self, first: Job) -> io::Result<()> {
        let mut out = REPLIES.with(BufferPool::take);
        let mut next = Some(first);
        while let Some(mut job) = next {
            self.in_flight -= 1;
            if job.garbage {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not an RPC call"));
            }
            note_call(&self.admission);
            if job.reply.len() >= LARGE_REPLY_BYTES {
                self.link.send(&mut out).await?;
                self.link.send(&mut job.reply).await?;
            } else {
                out.raw(job.reply.as_slice());
            }
            JOBS.with(|pool| pool.give_back(job));
            next = self.done.try_recv().ok();
        }
        self.link.send(&mut out).await?;
        REPLIES.with(|pool| pool.give_back(out));
        Ok(())
    }
}
