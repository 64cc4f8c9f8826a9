//! The connections over UDP, which share one socket.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use sharebench_ncp::burst::next_departure;
use sharebench_ncp::server::{Datagrams, Peer, PendingWork};
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::lip::is_probe;
use sharebench_ncp::wire::tcp::MAX_MESSAGE;
use sharebench_ncp::wire::watchdog::IpWatchdog;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::ncp::state::ServerState;

/// The largest number of datagrams that wait for a volume; the clients of others retransmit.
pub(super) const MAX_WAITING: usize = 1024;

/// Serves datagrams until its runtime ends.
pub(super) async fn serve(socket: UdpSocket, state: Arc<ServerState>) -> io::Result<()> {
    let socket = Arc::new(tokio::net::UdpSocket::from_std(socket)?);
    let waiting = Arc::new(Semaphore::new(MAX_WAITING));
    let mut input = vec![0; MAX_MESSAGE];
    let mut out = Datagrams::new();
    let mut watch = tokio::time::interval(state.watch);
    loop {
        let (len, client) = tokio::select! {
            received = socket.recv_from(&mut input) => match received {
                Ok(received) => received,
                // Some systems report the error of an earlier datagram here.
                Err(error) => {
                    tracing::debug!(%error, "NCP datagram");
                    continue;
                }
            },
            _ = watch.tick() => {
                for (peer, connection) in state.server.idle_clients() {
                    if let Peer::Ip(client) = peer {
                        send(&socket, &IpWatchdog::query(connection).packet(), client).await;
                    }
                }
                continue;
            }
        };
        out.clear();
        if !state.blocks {
            state.server.receive_datagram(Peer::Ip(client), TransportKind::Udp, &input[..len], &mut out);
            if out.is_empty() && state.server.waiting() > 0 {
                let state = Arc::clone(&state);
                let socket = Arc::clone(&socket);
                tokio::spawn(async move {
                    send(&socket, &state.waited_alone(Peer::Ip(client)).await, client).await;
                });
            } else if out.gap.is_zero() {
                send_all(&socket, &out, client).await;
            } else {
                // A separate task, so that other clients are served during the pauses.
                let socket = Arc::clone(&socket);
                let paced = std::mem::take(&mut out);
                tokio::spawn(async move { send_all(&socket, &paced, client).await });
            }
            continue;
        }
        // Burst packets are processed in the order of arrival.
        let left = state.server.collect(Peer::Ip(client), &input[..len], &mut out);
        if left == PendingWork::Done {
            let socket = Arc::clone(&socket);
            let paced = std::mem::take(&mut out);
            tokio::spawn(async move { send_all(&socket, &paced, client).await });
            continue;
        }
        let Ok(permit) = Arc::clone(&waiting).try_acquire_owned() else { continue };
        let state = Arc::clone(&state);
        let socket = Arc::clone(&socket);
        let message = input[..len].to_vec();
        tokio::spawn(async move {
            let working = Arc::clone(&state);
            let answered = tokio::task::spawn_blocking(move || {
                working.work(left, Peer::Ip(client), TransportKind::Udp, &message)
            });
            let answered = answered.await;
            drop(permit);
            match answered {
                Ok(out) if out.is_empty() => {
                    send(&socket, &state.waited_alone(Peer::Ip(client)).await, client).await;
                }
                Ok(out) => send_all(&socket, &out, client).await,
                Err(_) => {}
            }
        });
    }
}

/// Returns probes of the path until its runtime ends.
pub(super) async fn echo(socket: UdpSocket) -> io::Result<()> {
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let mut input = vec![0; MAX_MESSAGE];
    loop {
        match socket.recv_from(&mut input).await {
            Ok((len, client)) if is_probe(&input[..len]) => send(&socket, &input[..len], client).await,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "NCP probe"),
        }
    }
}

/// The departures of the datagrams of a reply, with a pause between them.
pub(super) struct Departures {
    start: Instant,
    gap: Duration,
    due: Option<Duration>,
}

impl Departures {
    pub(super) fn new(gap: Duration) -> Self {
        Self { start: Instant::now(), gap, due: None }
    }

    /// Returns when the next datagram may depart.
    pub(super) async fn wait(&mut self) {
        if self.gap.is_zero() {
            return;
        }
        let due = self.due.map_or(Duration::ZERO, |due| next_departure(due, self.start.elapsed(), self.gap));
        let pause = due.saturating_sub(self.start.elapsed());
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.due = Some(due);
    }
}

/// Sends the datagrams of a reply with the pause between them.
async fn send_all(socket: &tokio::net::UdpSocket, datagrams: &Datagrams, client: SocketAddr) {
    let mut departures = Departures::new(datagrams.gap);
    for datagram in datagrams.iter() {
        departures.wait().await;
        send(socket, datagram, client).await;
    }
}

/// Sends a datagram, if there is one. Errors are only logged, because the protocol handles loss.
async fn send(socket: &tokio::net::UdpSocket, datagram: &[u8], client: SocketAddr) {
    if datagram.is_empty() {
        return;
    }
    if let Err(error) = socket.send_to(datagram, client).await {
        tracing::debug!(%error, %client, "NCP datagram not sent");
    }
}
