//! One connection: calls in bursts, replies in one write per burst, in any order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sharebench_nfs::xdr::XdrError;
use sharebench_tls::Stream;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::common::admission::Admission;
use crate::common::buffers::BufferPool;
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
        let Some(opened) = open(stream, &state, &connection.0).await? else { return Ok(()) };
        match workers {
            None => serve_inline(opened, &state, &admission, (&connection.0, callbacks)).await,
            Some(workers) => {
                let way_back = (Arc::clone(&connection.0), callbacks);
                WorkerConnection::new(opened, state, admission, workers, way_back).serve().await
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

async fn serve_inline(
    (mut stream, mut frames): (Stream, Frames),
    state: &ServerState,
    admission: &Admission,
    (peer, mut callbacks): (&Arc<Peer>, Callbacks),
) -> io::Result<()> {
    let io_timeout = state.options.io_timeout;
    loop {
        let mut out = REPLIES.with(BufferPool::take);
        while let Some(frame) = frames.next()? {
            let record = match &frame {
                Frame::Buffered(range) => &frames.bytes()[range.clone()],
                Frame::Reassembled(record) => record,
            };
            state.answer(peer, record, &mut out).map_err(garbage)?;
            note_call(admission);
            // A client that sends many calls at once must not make the server hold all of their replies.
            if out.len() >= SEND_BYTES {
                send(&mut stream, &mut out, io_timeout).await?;
            }
        }
        send(&mut stream, &mut out, io_timeout).await?;
        REPLIES.with(|pool| pool.give_back(out));
        if !receive(&mut stream, &mut frames, &mut callbacks, io_timeout).await? {
            return Ok(());
        }
    }
}

/// Receives from the client, and sends the callbacks that are due meanwhile; false at the end of the stream.
async fn receive(
    stream: &mut Stream,
    frames: &mut Frames,
    callbacks: &mut Callbacks,
    io_timeout: Duration,
) -> io::Result<bool> {
    loop {
        let callback = tokio::select! {
            biased;
            received = frames.receive_within(stream, io_timeout) => return received,
            Some(callback) = callbacks.recv() => callback,
        };
        send_callback(stream, &callback, io_timeout).await?;
    }
}

/// Sends a callback of the server.
async fn send_callback(stream: &mut Stream, callback: &[u8], io_timeout: Duration) -> io::Result<()> {
    let mut out = REPLIES.with(BufferPool::take);
    out.raw(callback);
    send(stream, &mut out, io_timeout).await?;
    REPLIES.with(|pool| pool.give_back(out));
    Ok(())
}

/// A connection whose calls run on workers.
struct WorkerConnection {
    stream: Stream,
    state: Arc<ServerState>,
    admission: Admission,
    workers: Arc<NfsWorkers>,
    frames: Frames,
    back: UnboundedSender<Job>,
    done: UnboundedReceiver<Job>,
    in_flight: usize,
    peer: Arc<Peer>,
    callbacks: Callbacks,
}

impl WorkerConnection {
    fn new(
        (stream, frames): (Stream, Frames),
        state: Arc<ServerState>,
        admission: Admission,
        workers: Arc<NfsWorkers>,
        (peer, callbacks): (Arc<Peer>, Callbacks),
    ) -> Self {
        let (back, done) = unbounded_channel();
        Self { stream, state, admission, workers, frames, back, done, in_flight: 0, peer, callbacks }
    }

    async fn serve(mut self) -> io::Result<()> {
        loop {
            self.start_calls()?;
            let has_capacity = self.in_flight < self.state.options.max_in_flight.max(1);
            tokio::select! {
                Some(job) = self.done.recv() => self.send_replies(job).await?,
                Some(callback) = self.callbacks.recv() => {
                    send_callback(&mut self.stream, &callback, self.state.options.io_timeout).await?;
                }
                // Without capacity nothing is read: further calls wait in the socket, and TCP slows the client
                // down.
                more = self.frames.receive_within(&mut self.stream, self.state.options.io_timeout), if has_capacity => {
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
            let Some(frame) = self.frames.next()? else { break };
            let mut job = JOBS.with(BufferPool::take);
            job.record = match frame {
                Frame::Buffered(range) => self.frames.move_record(range, &mut job.call),
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
        let io_timeout = self.state.options.io_timeout;
        let mut out = REPLIES.with(BufferPool::take);
        let mut next = Some(first);
        while let Some(mut job) = next {
            self.in_flight -= 1;
            if !job.garbage {
                note_call(&self.admission);
            }
            if job.garbage {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not an RPC call"));
            }
            if job.reply.len() >= LARGE_REPLY_BYTES {
                send(&mut self.stream, &mut out, io_timeout).await?;
                send(&mut self.stream, &mut job.reply, io_timeout).await?;
            } else {
                out.raw(job.reply.as_slice());
            }
            JOBS.with(|pool| pool.give_back(job));
            next = self.done.try_recv().ok();
        }
        send(&mut self.stream, &mut out, io_timeout).await?;
        REPLIES.with(|pool| pool.give_back(out));
        Ok(())
    }
}
