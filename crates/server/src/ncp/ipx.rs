//! All connections over IPX in UDP: one socket, whose datagrams are IPX packets (RFC 1234 and `DOSBox`'s ipxnet).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use sharebench_ncp::security::signature::Transport;
use sharebench_ncp::server::{Collected, Datagrams, Peer};
use sharebench_ncp::wire::ipx::{Address, HEADER_LEN, IpxPacket, packet_type, socket};
use sharebench_ncp::wire::ipx_udp::is_registration;
use sharebench_ncp::wire::tcp::MAX_MESSAGE;
use sharebench_ncp::wire::watchdog::Notice;

use tokio::sync::Semaphore;

use crate::ncp::State;
use crate::ncp::datagrams::{MAX_WAITING, WATCH};

/// The internal network of the server, by which its clients know it.
const NETWORK: u32 = 0x5348_5242;

/// The socket that clients register by (ncp.md 1.9).
const REGISTRATION: u16 = 2;

/// Serves for as long as its runtime lives.
pub(super) async fn serve(udp: UdpSocket, state: Arc<State>) -> io::Result<()> {
    let udp = Arc::new(tokio::net::UdpSocket::from_std(udp)?);
    let waiting = Arc::new(Semaphore::new(MAX_WAITING));
    let mut input = vec![0; MAX_MESSAGE];
    let mut watch = tokio::time::interval(WATCH);
    // Where the clients of connections are; as many as there can be connections.
    let mut routes: HashMap<Address, SocketAddr> = HashMap::new();
    loop {
        let (len, client) = tokio::select! {
            received = udp.recv_from(&mut input) => match received {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "IPX datagram");
                    continue;
                }
            },
            _ = watch.tick() => {
                for (peer, connection) in state.server.watch() {
                    if let Peer::Ipx(station) = peer
                        && let Some(client) = routes.get(&station)
                    {
                        // The watchdog of a client listens one socket above its own (ncp.md 1.7).
                        let watchdog = Address { socket: station.socket.wrapping_add(1), ..station };
                        send(&udp, &Notice::Watchdog.packet(connection), watchdog, *client).await;
                    }
                }
                continue;
            }
        };
        let Ok(packet) = IpxPacket::decode(&input[..len]) else { continue };
        let source = packet.header.source;
        if is_registration(&packet) {
            send(&udp, &[], assigned(client), client).await;
        } else if let Some((_, Notice::Alive)) = Notice::decode(packet.payload) {
            state.server.heard(Peer::Ipx(Address { socket: source.socket.wrapping_sub(1), ..source }));
        } else if packet.header.destination.socket == socket::NCP {
            if routes.len() < state.max_connections || routes.contains_key(&source) {
                routes.insert(source, client);
            } else {
                // Filled by stations without connections: those that have some are learned again.
                routes.clear();
            }
            let (state, udp, call) = (Arc::clone(&state), Arc::clone(&udp), packet.payload.to_vec());
            answer(state, udp, call, (source, client), Arc::clone(&waiting)).await;
        }
    }
}

/// Answers a call, off this thread where the volume may keep it waiting.
async fn answer(
    state: Arc<State>,
    udp: Arc<tokio::net::UdpSocket>,
    call: Vec<u8>,
    (station, client): (Address, SocketAddr),
    waiting: Arc<Semaphore>,
) {
    let (blocks, peer) = (state.blocks, Peer::Ipx(station));
    let mut out = Datagrams::new();
    if blocks {
        // Parts of bursts in the order they come.
        let left = state.server.collect(peer, &call, &mut out);
        if left != Collected::Answered {
            let working = Arc::clone(&state);
            let answer = move || working.work(left, peer, Transport::Ipx, &call);
            return work(answer, state, udp, (station, client), waiting);
        }
    } else {
        state.server.receive_datagram(peer, Transport::Ipx, &call, &mut out);
        if out.is_empty() && state.server.waiting() > 0 {
            tokio::spawn(async move { send_waited(&state, &udp, station, client).await });
            return;
        }
        if out.gap.is_zero() {
            return send_all(&udp, &out, station, client).await;
        }
    }
    tokio::spawn(async move { send_all(&udp, &out, station, client).await });
}

/// Answers where waiting for the volume holds up nobody else.
fn work(
    answer: impl FnOnce() -> Datagrams + Send + 'static,
    state: Arc<State>,
    udp: Arc<tokio::net::UdpSocket>,
    (station, client): (Address, SocketAddr),
    waiting: Arc<Semaphore>,
) {
    // The clients of what is too much ask again.
    let Ok(permit) = waiting.try_acquire_owned() else { return };
    tokio::spawn(async move {
        let answered = tokio::task::spawn_blocking(answer).await;
        drop(permit);
        match answered {
            Ok(out) if out.is_empty() => send_waited(&state, &udp, station, client).await,
            Ok(out) => send_all(&udp, &out, station, client).await,
            Err(_) => {}
        }
    });
}

/// Sends the answer to a request that waits for a lock, when it is there.
async fn send_waited(state: &State, udp: &tokio::net::UdpSocket, station: Address, client: SocketAddr) {
    let answer = state.waited_alone(Peer::Ipx(station)).await;
    if !answer.is_empty() {
        send(udp, &answer, station, client).await;
    }
}

/// The station of a client that registers: its address and port on IPv4, else a hash of them.
fn assigned(client: SocketAddr) -> Address {
    let [high, low] = client.port().to_be_bytes();
    let node = match client.ip().to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, high, low]
        }
        IpAddr::V6(ip) => {
            let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            let [a, b, c, d] = ip.octets().iter().fold(0x811C_9DC5, fold).to_be_bytes();
            [a, b, c, d, high, low]
        }
    };
    Address { network: 0, node, socket: REGISTRATION }
}

async fn send_all(udp: &tokio::net::UdpSocket, out: &Datagrams, station: Address, client: SocketAddr) {
    for (number, datagram) in out.iter().enumerate() {
        if number > 0 && !out.gap.is_zero() {
            tokio::time::sleep(out.gap).await;
        }
        send(udp, datagram, station, client).await;
    }
}

/// Sends an IPX packet to a station; whether it arrives is the protocol's business.
async fn send(udp: &tokio::net::UdpSocket, payload: &[u8], station: Address, client: SocketAddr) {
    let server = Address::of_server(NETWORK);
    let (kind, source) = match station.socket {
        // The answer to a registration is no packet of NCP.
        REGISTRATION => (packet_type::UNKNOWN, Address { socket: REGISTRATION, ..server }),
        _ => (packet_type::NCP, server),
    };
    let Ok(packet) = IpxPacket::new(kind, source, station, payload) else { return };
    let mut out = Vec::with_capacity(payload.len() + HEADER_LEN);
    packet.put(&mut out);
    if let Err(error) = udp.send_to(&out, client).await {
        tracing::debug!(%error, %client, "IPX datagram not sent");
    }
}
