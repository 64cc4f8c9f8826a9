//! All connections over UDP: one socket.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use sharebench_ncp::server::{Datagrams, Peer, PendingWork};
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::lip::is_probe;
use sharebench_ncp::wire::tcp::MAX_MESSAGE;
use sharebench_ncp::wire::watchdog::IpWatchdog;
use tokio::sync::Semaphore;

use crate::ncp::ServerState;

/// Datagrams that wait for a volume at once; the clients of others ask again.
pub(super) const MAX_WAITING: usize = 1024;

/// Serves for as long as its runtime lives.
pub(super) async fn serve(socket: UdpSocket, state: Arc<ServerState>) -> io::Result<()> {
    let socket = Arc::new(tokio::net::UdpSocket::from_std(socket)?);
    let waiting = Arc::new(Semaphore::new(MAX_WAITING));
    let (mut input, mut out) = (vec![0; MAX_MESSAGE], Datagrams::new());
    let mut watch = tokio::time::interval(state.watch);
    loop {
        let (len, client) = tokio::select! {
            received = socket.recv_from(&mut input) => match received {
                Ok(received) => received,
                // Some systems report here what became of an earlier datagram.
                Err(error) => {
                    tracing::debug!(%error, "NCP datagram");
                    continue;
                }
            },
            _ = watch.tick() => {
                for (peer, connection) in state.server.idle_clients() {
                    if let Peer::Ip(client) = peer {
                        send(&socket, &IpWatchdog::ask(connection).packet(), client).await;
                    }
                }
                continue;
            }
        };
        out.clear();
        if !state.blocks {
            state.server.receive_datagram(Peer::Ip(client), TransportKind::Udp, &input[..len], &mut out);
            if out.is_empty() && state.server.waiting() > 0 {
                let (state, socket) = (Arc::clone(&state), Arc::clone(&socket));
                tokio::spawn(async move {
                    send(&socket, &state.waited_alone(Peer::Ip(client)).await, client).await;
                });
            } else if out.gap.is_zero() {
                send_all(&socket, &out, client).await;
            } else {
                // Others are served in the pauses.
                let (socket, paced) = (Arc::clone(&socket), std::mem::take(&mut out));
                tokio::spawn(async move { send_all(&socket, &paced, client).await });
            }
            continue;
        }
        // Parts of bursts in the order they come.
        let left = state.server.collect(Peer::Ip(client), &input[..len], &mut out);
        if left == PendingWork::Done {
            let (socket, paced) = (Arc::clone(&socket), std::mem::take(&mut out));
            tokio::spawn(async move { send_all(&socket, &paced, client).await });
            continue;
        }
        let Ok(permit) = Arc::clone(&waiting).try_acquire_owned() else { continue };
        let (state, socket, message) = (Arc::clone(&state), Arc::clone(&socket), input[..len].to_vec());
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

/// Sends probes of the path back, for as long as its runtime lives.
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

/// Sends the datagrams of an answer, with their pause between them.
async fn send_all(socket: &tokio::net::UdpSocket, datagrams: &Datagrams, client: SocketAddr) {
    for (number, datagram) in datagrams.iter().enumerate() {
        if number > 0 && !datagrams.gap.is_zero() {
            tokio::time::sleep(datagrams.gap).await;
        }
        send(socket, datagram, client).await;
    }
}

/// Sends a datagram, if there is one; whether it arrives is the protocol's business.
async fn send(socket: &tokio::net::UdpSocket, datagram: &[u8], client: SocketAddr) {
    if datagram.is_empty() {
        return;
    }
    if let Err(error) = socket.send_to(datagram, client).await {
        tracing::debug!(%error, %client, "NCP datagram not sent");
    }
}
