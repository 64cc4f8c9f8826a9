//! The connections over IPX, which share one socket of datagrams or frames.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use sharebench_ncp::server::{Datagrams, Peer, PendingWork};
use sharebench_ncp::wire::Codec;
use sharebench_ncp::wire::ipx::{
    Address, HEADER_LEN, IpxPacket, NO_CHECKSUM, is_intact, packet_type, socket,
};
use sharebench_ncp::wire::ipx_udp::is_registration;
use sharebench_ncp::wire::lip::is_probe;
use sharebench_ncp::wire::packet::{ClientHeader, ClientKind};
use sharebench_ncp::wire::tcp::MAX_MESSAGE;
use sharebench_ncp::wire::watchdog::Notice;
use tokio::sync::Semaphore;

use crate::ncp::datagrams::{Departures, MAX_WAITING};
use crate::ncp::ipx_link::{IpxLink, LinkAddress};
use crate::ncp::services::{EVERY, ServiceAdvertiser};
use crate::ncp::state::ServerState;

/// Internal network number of the server.
pub(super) const NETWORK: u32 = 0x5348_5242;
/// The socket that returns probes of the path.
pub(super) const ECHO: u16 = 0x400A;
/// The socket of registrations (docs/protocols/ncp.md 1.9).
const REGISTRATION: u16 = 2;
/// Pause after an error of the socket, which may fail as long as its interface is down.
const PAUSE: Duration = Duration::from_millis(100);

/// A client: its IPX address, the link address of its packets, and whether they have checksums.
#[derive(Debug, Clone, Copy)]
struct IpxClient {
    address: Address,
    hop: LinkAddress,
    checks: bool,
}

/// Serves the packets of one link.
struct IpxServer {
    link: IpxLink,
    state: Arc<ServerState>,
    /// SAP and RIP, on Ethernet.
    services: Option<ServiceAdvertiser>,
    waiting: Arc<Semaphore>,
}

/// Serves packets until its runtime ends.
pub(super) async fn serve(
    link: IpxLink,
    state: Arc<ServerState>,
    services: Option<ServiceAdvertiser>,
) -> io::Result<()> {
    let waiting = Arc::new(Semaphore::new(MAX_WAITING));
    let server = Arc::new(IpxServer { link, state, services, waiting });
    let mut input = vec![0; MAX_MESSAGE];
    let mut watch = tokio::time::interval(server.state.watch);
    let mut announce = tokio::time::interval(EVERY);
    // Link addresses of clients; at most as many as connections.
    let mut routes: HashMap<Address, LinkAddress> = HashMap::new();
    loop {
        tokio::select! {
            received = server.link.receive(&mut input) => match received {
                Ok((at, hop)) => server.take(&input[at], hop, &mut routes).await,
                Err(error) => {
                    tracing::debug!(%error, "IPX packet");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            _ = watch.tick() => server.watch(&routes).await,
            _ = announce.tick() => if let Some(services) = &server.services {
                for packet in services.announcements(true) {
                    server.link.send(&packet, LinkAddress::Ether(Address::BROADCAST)).await;
                }
            },
        }
    }
}

impl IpxServer {
    /// Processes a packet, which may have padding.
    async fn take(
        self: &Arc<Self>,
        bytes: &[u8],
        hop: LinkAddress,
        routes: &mut HashMap<Address, LinkAddress>,
    ) {
        let Ok(packet) = IpxPacket::decode(bytes) else { return };
        let source = packet.header.source;
        let to = packet.header.destination;
        if !is_intact(&bytes[..usize::from(packet.header.length)]) {
            return;
        }
        let client = IpxClient { address: source, hop, checks: packet.header.checksum != NO_CHECKSUM };
        if let Some(services) = &self.services {
            if let Some(answer) = services.answer(&packet) {
                return self.link.send(&answer, hop).await;
            }
            if !services.is_own(to) {
                return;
            }
        } else if is_registration(&packet) {
            return self.register(hop).await;
        }
        if let Some((_, Notice::Alive)) = Notice::decode(packet.payload) {
            let address = Address { socket: source.socket.wrapping_sub(1), ..source };
            self.state.server.note_activity(Peer::Ipx(address));
        } else if to.socket == ECHO && is_probe(packet.payload) {
            self.send(packet_type::NCP, ECHO, packet.payload, client).await;
        } else if to.socket == socket::NCP {
            let kind = ClientHeader::decode(packet.payload).map(|header| header.kind);
            let begins = kind == Ok(ClientKind::Create);
            if !client.checks && !begins && self.state.server.requires_checksums(Peer::Ipx(source)) {
                return;
            }
            if routes.len() < self.state.max_connections || routes.contains_key(&source) {
                routes.insert(source, hop);
            } else {
                // The table is full of clients without connections; those with connections are learned again.
                routes.clear();
            }
            self.answer(packet.payload.to_vec(), client).await;
        }
    }

    /// Sends watchdog queries to idle clients.
    async fn watch(&self, routes: &HashMap<Address, LinkAddress>) {
        for (peer, connection) in self.state.server.idle_clients() {
            if let Peer::Ipx(address) = peer
                && let Some(hop) = routes.get(&address)
            {
                // The watchdog socket of a client is one above its request socket (docs/protocols/ncp.md 1.7).
                let address = Address { socket: address.socket.wrapping_add(1), ..address };
                let client =
                    IpxClient { address, hop: *hop, checks: self.state.server.requires_checksums(peer) };
                self.send(packet_type::NCP, socket::NCP, &Notice::Watchdog.packet(connection), client).await;
            }
        }
    }

    /// Assigns a node to a client in UDP.
    async fn register(&self, hop: LinkAddress) {
        if let LinkAddress::Udp(client) = hop {
            let client = IpxClient { address: assigned(client), hop, checks: false };
            // The answer to a registration is not an NCP packet.
            self.send(packet_type::UNKNOWN, REGISTRATION, &[], client).await;
        }
    }

    /// Answers a call, on another thread if the volume may block.
    async fn answer(self: &Arc<Self>, call: Vec<u8>, client: IpxClient) {
        let state = &self.state;
        let peer = Peer::Ipx(client.address);
        let mut out = Datagrams::new();
        if state.blocks {
            // Burst packets are processed in the order of arrival.
            let left = state.server.collect(peer, &call, &mut out);
            if left != PendingWork::Done {
                return self.work(left, call, client);
            }
        } else {
            state.server.receive_datagram(peer, self.link.kind(), &call, &mut out);
            if out.is_empty() && state.server.waiting() > 0 {
                let server = Arc::clone(self);
                tokio::spawn(async move { server.send_waited(client).await });
                return;
            }
            if out.gap.is_zero() {
                return self.send_all(&out, client).await;
            }
        }
        let server = Arc::clone(self);
        tokio::spawn(async move { server.send_all(&out, client).await });
    }

    /// Answers a call on a thread that may block.
    fn work(self: &Arc<Self>, left: PendingWork, call: Vec<u8>, client: IpxClient) {
        // Beyond the limit the call is dropped, and its client retransmits.
        let Ok(permit) = Arc::clone(&self.waiting).try_acquire_owned() else { return };
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let state = Arc::clone(&server.state);
            let peer = Peer::Ipx(client.address);
            let transport = server.link.kind();
            let work = move || state.work(left, peer, transport, &call);
            let answered = tokio::task::spawn_blocking(work).await;
            drop(permit);
            match answered {
                Ok(out) if out.is_empty() => server.send_waited(client).await,
                Ok(out) => server.send_all(&out, client).await,
                Err(_) => {}
            }
        });
    }

    /// Waits for the reply to a request that waits for a lock, and sends it.
    async fn send_waited(&self, client: IpxClient) {
        let answer = self.state.waited_alone(Peer::Ipx(client.address)).await;
        if !answer.is_empty() {
            self.send(packet_type::NCP, socket::NCP, &answer, client).await;
        }
    }

    async fn send_all(&self, out: &Datagrams, client: IpxClient) {
        let mut departures = Departures::new(out.gap);
        for datagram in out.iter() {
            departures.wait().await;
            self.send(packet_type::NCP, socket::NCP, datagram, client).await;
        }
    }

    /// Sends a packet from a server socket, with a checksum if the client uses checksums.
    async fn send(&self, kind: u8, from: u16, payload: &[u8], client: IpxClient) {
        let source = Address { socket: from, ..Address::of_server(NETWORK) };
        let address =
            self.services.as_ref().map_or(client.address, |services| services.on_segment(client.address));
        let Ok(packet) = IpxPacket::new(kind, source, address, payload) else { return };
        let mut out = Vec::with_capacity(payload.len() + HEADER_LEN);
        if client.checks && self.link.has_checksums() {
            packet.put_checked(&mut out);
        } else {
            packet.put(&mut out);
        }
        self.link.send(&out, client.hop).await;
    }
}

/// The address of a client that registers: from its IPv4 address and port, or a hash for IPv6.
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
