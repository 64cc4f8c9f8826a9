//! NFS version 3 and MOUNT over UDP: a datagram is a call, and its reply is one.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sharebench_nfs::xdr::Writer;
use tokio::net::UdpSocket;
use tokio::sync::mpsc::unbounded_channel;

use crate::front_ends::buffers::BufferPool;
use crate::nfs::state::ServerState;
use crate::nfs::transport::jobs::{JOBS, Job};
use crate::nfs::transport::workers::{CallTask, NfsWorkers};

/// Longest datagram.
const MAX_DATAGRAM_BYTES: usize = 1 << 16;
/// Calls of all clients on workers; more wait in the socket, and what has no place there is lost.
const MAX_IN_FLIGHT: usize = 1024;
/// Pause after a failure to receive, so that a broken socket does not spin.
const RECEIVE_PAUSE: Duration = Duration::from_millis(20);

/// Answers the datagrams of a socket. With `workers` the calls run on them, otherwise on this thread.
pub(crate) async fn serve_datagrams(
    socket: std::net::UdpSocket,
    state: Arc<ServerState>,
    workers: Option<Arc<NfsWorkers>>,
) -> io::Result<()> {
    let socket = UdpSocket::from_std(socket)?;
    let (back, mut done) = unbounded_channel::<Job>();
    let mut in_flight = 0;
    let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
    let mut out = Writer::default();
    loop {
        let received = tokio::select! {
            Some(job) = done.recv() => {
                in_flight -= 1;
                if let Some(client) = job.datagram {
                    send(&socket, job.reply.as_slice(), client).await;
                }
                JOBS.with(|pool| pool.give_back(job));
                continue;
            }
            received = socket.recv_from(&mut buffer), if in_flight < MAX_IN_FLIGHT => received,
        };
        let (len, client) = match received {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!(%error, "NFS datagram not received");
                tokio::time::sleep(RECEIVE_PAUSE).await;
                continue;
            }
        };
        let call = buffer.get(..len).unwrap_or_default();
        if let Some(workers) = &workers {
            let mut job = JOBS.with(BufferPool::take);
            job.call.clear();
            job.call.extend_from_slice(call);
            job.record = 0..len;
            job.datagram = Some(client);
            in_flight += 1;
            workers.push(CallTask { job, back: back.clone() });
        } else {
            state.answer_datagram(client, call, &mut out);
            send(&socket, out.as_slice(), client).await;
            out.clear();
        }
    }
}

/// Sends a reply, unless it is empty. One that cannot be sent is lost, and the client repeats its call.
async fn send(socket: &UdpSocket, reply: &[u8], client: SocketAddr) {
    if !reply.is_empty()
        && let Err(error) = socket.send_to(reply, client).await
    {
        tracing::debug!(%client, %error, "NFS reply not sent");
    }
}
