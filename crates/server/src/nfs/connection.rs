//! One connection: calls in bursts, replies in one write per burst, in any order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_nfs::xdr::{Writer, XdrError};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::nfs::frames::{Frame, Frames};
use crate::nfs::state::ServerState;
use crate::nfs::workers::{Job, Workers};

/// Replies are sent on when this much of them waits.
const SEND_BYTES: usize = 1 << 20;
/// Replies from this size on are sent from where they are.
const LARGE_REPLY_BYTES: usize = 16 << 10;
/// Memory a reply buffer keeps between bursts.
const KEEP_BYTES: usize = 2 << 20;

/// Counts an open connection for as long as it lives.
pub(super) struct ConnectionSlot(Arc<ServerState>);

impl ConnectionSlot {
    /// None when too many are open.
    pub(super) fn take(state: &Arc<ServerState>) -> Option<Self> {
        let slot = Self(Arc::clone(state));
        let open = state.open_connections.fetch_add(1, Ordering::Relaxed);
        state.counters.connections.fetch_add(1, Ordering::Relaxed);
        (open < state.options.max_connections).then_some(slot)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn garbage(error: XdrError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Serves a connection until its peer closes it or breaks the protocol. With `workers` calls run there,
/// without on this thread.
pub(super) async fn serve(stream: TcpStream, slot: ConnectionSlot, workers: Option<Arc<Workers>>) {
    let state = Arc::clone(&slot.0);
    let peer = stream.peer_addr().ok();
    let ended = match workers {
        None => serve_here(stream, &state).await,
        Some(workers) => Pooled::new(stream, state, workers).serve().await,
    };
    if let Err(error) = ended {
        tracing::debug!(?peer, %error, "NFS connection ended");
    }
}

async fn serve_here(mut stream: TcpStream, state: &ServerState) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut frames, mut out) = (Frames::new(), Writer::default());
    while frames.receive(&mut stream).await? {
        while let Some(frame) = frames.next()? {
            let record = match &frame {
                Frame::Here(range) => &frames.bytes()[range.clone()],
                Frame::Assembled(record) => record,
            };
            state.answer(record, &mut out).map_err(garbage)?;
            if out.len() >= SEND_BYTES {
                send(&mut stream, &mut out).await?;
            }
        }
        send(&mut stream, &mut out).await?;
    }
    Ok(())
}

async fn send(stream: &mut TcpStream, out: &mut Writer) -> io::Result<()> {
    stream.write_all(out.as_slice()).await?;
    out.clear();
    out.shrink(KEEP_BYTES);
    Ok(())
}

/// A connection whose calls run on workers.
struct Pooled {
    stream: TcpStream,
    state: Arc<ServerState>,
    workers: Arc<Workers>,
    frames: Frames,
    out: Writer,
    back: UnboundedSender<Job>,
    done: UnboundedReceiver<Job>,
    idle: Vec<Job>,
    in_flight: usize,
}

impl Pooled {
    fn new(stream: TcpStream, state: Arc<ServerState>, workers: Arc<Workers>) -> Self {
        let (back, done) = unbounded_channel();
        Self {
            stream,
            state,
            workers,
            frames: Frames::new(),
            out: Writer::default(),
            back,
            done,
            idle: Vec::new(),
            in_flight: 0,
        }
    }

    async fn serve(mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        loop {
            let room = self.in_flight < self.state.options.max_in_flight.max(1);
            tokio::select! {
                Some(job) = self.done.recv() => self.send_replies(job).await?,
                more = self.frames.receive(&mut self.stream), if room => {
                    if !more? {
                        return Ok(());
                    }
                }
            }
            self.start_calls()?;
        }
    }

    fn start_calls(&mut self) -> io::Result<()> {
        while self.in_flight < self.state.options.max_in_flight.max(1) {
            let Some(frame) = self.frames.next()? else { break };
            let mut job = self.idle.pop().unwrap_or_default();
            job.record = match frame {
                Frame::Here(range) => self.frames.hand_over(range, &mut job.call),
                Frame::Assembled(record) => {
                    job.call = record;
                    0..job.call.len()
                }
            };
            self.in_flight += 1;
            self.workers.push(job, self.back.clone());
        }
        Ok(())
    }

    /// Sends a reply and all others that are there.
    async fn send_replies(&mut self, first: Job) -> io::Result<()> {
        let mut next = Some(first);
        while let Some(mut job) = next {
            self.in_flight -= 1;
            if job.garbage {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not an RPC call"));
            }
            if job.reply.len() >= LARGE_REPLY_BYTES {
                send(&mut self.stream, &mut self.out).await?;
                send(&mut self.stream, &mut job.reply).await?;
            } else {
                self.out.raw(job.reply.as_slice());
                job.reply.clear();
            }
            self.idle.push(job);
            next = self.done.try_recv().ok();
        }
        send(&mut self.stream, &mut self.out).await
    }
}
