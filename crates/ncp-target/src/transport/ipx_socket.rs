//! A station on IPX: in UDP, where it registers with the server, or on an Ethernet, where it looks for one by its name.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sharebench_ncp::ether::EtherSocket;
use sharebench_ncp::wire::ipx::{
    Address, HEADER_LEN, IpxPacket, NO_CHECKSUM, is_intact, packet_type, socket,
};
use sharebench_ncp::wire::ipx_udp::{assigned, put_registration};
use sharebench_ncp::wire::watchdog::Notice;
use sharebench_ncp::wire::{TransportKind, WireError};
use tokio::io::ReadBuf;
use tokio::io::unix::AsyncFd;
use tokio::net::UdpSocket;

/// The socket of requests in UDP; the watchdog's is one above (docs/protocols/ncp.md 1.7).
const REQUESTS: u16 = 0x4010;
/// How often a registration or a query is sent before nobody is taken to be there.
pub(crate) const ASKED: u32 = 5;

/// What carries IPX packets.
#[derive(Debug)]
pub(crate) enum IpxLink {
    Udp(UdpSocket),
    /// Frames, and the station they go to: the server itself, or a router.
    Ether(AsyncFd<EtherSocket>, [u8; 6]),
}

/// Addresses of both ends, and what is between them.
#[derive(Debug)]
pub(crate) struct IpxSocket {
    link: IpxLink,
    own: Address,
    server: Address,
    /// Routers on the way.
    routers: u16,
    /// Packets have checksums.
    checks: bool,
    /// The packet being sent.
    packet: Vec<u8>,
}

pub(crate) fn unfit(error: WireError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl IpxSocket {
    /// A station whose server is known, with the routers on the way there.
    pub(crate) const fn new(link: IpxLink, own: Address, server: Address, routers: u16) -> Self {
        Self { link, own, server, routers, checks: false, packet: Vec::new() }
    }

    /// Asks in UDP for a node until one is given; the server's own address is that of its answer.
    pub(crate) async fn register(udp: UdpSocket, retry: Duration) -> io::Result<Self> {
        let (mut registration, mut input) = (Vec::new(), [0; 600]);
        put_registration(&mut registration).map_err(unfit)?;
        let mut pause = retry;
        for _ in 0..ASKED {
            udp.send(&registration).await?;
            if let Ok(received) = tokio::time::timeout(pause, udp.recv(&mut input)).await {
                let packet = IpxPacket::decode(&input[..received?]).map_err(unfit)?;
                if let Some(node) = assigned(&packet) {
                    let own = Address { network: packet.header.destination.network, node, socket: REQUESTS };
                    let server = Address { socket: socket::NCP, ..packet.header.source };
                    return Ok(Self::new(IpxLink::Udp(udp), own, server, 0));
                }
            }
            pause *= 2;
        }
        Err(io::Error::new(ErrorKind::TimedOut, "nobody answers a registration of IPX in UDP"))
    }

    /// The address of this end: that of UDP, or that of IPX on an Ethernet.
    pub(crate) fn local_addr(&self) -> Option<String> {
        match &self.link {
            IpxLink::Udp(udp) => udp.local_addr().ok().map(|addr: SocketAddr| addr.to_string()),
            IpxLink::Ether(..) => {
                let Address { network, node, socket } = self.own;
                let node = node.into_iter().fold(0, |node, byte| node << 8 | u64::from(byte));
                Some(format!("{network:08X}:{node:012X}:{socket:04X}"))
            }
        }
    }

    /// IPX in UDP, or on an Ethernet.
    pub(crate) const fn kind(&self) -> TransportKind {
        match self.link {
            IpxLink::Udp(_) => TransportKind::IpxInUdp,
            IpxLink::Ether(..) => TransportKind::IpxOnEthernet,
        }
    }

    pub(crate) const fn is_routed(&self) -> bool {
        self.routers > 0
    }

    pub(crate) fn has_checksums(&self) -> bool {
        match &self.link {
            IpxLink::Udp(_) => false,
            IpxLink::Ether(socket, _) => socket.get_ref().framing().has_checksums(),
        }
    }

    pub(crate) const fn use_checksums(&mut self, on: bool) {
        self.checks = on;
    }

    /// Sends a packet to a socket of the server, whole.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        socket: u16,
        payload: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.packet.clear();
        let server = Address { socket, ..self.server };
        let packet = IpxPacket::new(packet_type::NCP, self.own, server, payload).map_err(unfit)?;
        if self.checks {
            packet.put_checked(&mut self.packet);
        } else {
            packet.put(&mut self.packet);
        }
        match &self.link {
            IpxLink::Udp(udp) => {
                ready!(udp.poll_send(cx, &self.packet))?;
            }
            IpxLink::Ether(frames, next) => loop {
                let mut writable = ready!(frames.poll_write_ready(cx))?;
                if let Ok(sent) = writable.try_io(|frames| frames.get_ref().send(*next, &self.packet)) {
                    sent?;
                    break;
                }
            },
        }
        Poll::Ready(Ok(payload.len()))
    }

    /// Receives a packet: the length of what it carries, at the front of `input`; none when it is not for a request.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        input: &mut [u8],
    ) -> Poll<io::Result<Option<usize>>> {
        let Some(at) = ready!(self.poll_packet(cx, input))? else { return Poll::Ready(Ok(None)) };
        let Ok(packet) = IpxPacket::decode(&input[at.clone()]) else { return Poll::Ready(Ok(None)) };
        let (to, len) = (packet.header.destination, packet.payload.len());
        let whole = &input[at.clone()][..HEADER_LEN + len];
        let bare = packet.header.checksum == NO_CHECKSUM;
        if to.node != self.own.node || !is_intact(whole) || self.checks && bare {
            return Poll::Ready(Ok(None));
        }
        if to.socket == self.own.socket + 1 {
            if let Some((connection, Notice::Watchdog)) = Notice::decode(packet.payload) {
                self.answer_watchdog(connection);
            }
            return Poll::Ready(Ok(None));
        }
        if to.socket != self.own.socket || len == 0 {
            return Poll::Ready(Ok(None));
        }
        let start = at.start + HEADER_LEN;
        input.copy_within(start..start + len, 0);
        Poll::Ready(Ok(Some(len)))
    }

    /// Where in `input` the next packet is, maybe with padding behind it; none for a frame of others.
    fn poll_packet(&self, cx: &mut Context<'_>, input: &mut [u8]) -> Poll<io::Result<Option<Range<usize>>>> {
        match &self.link {
            IpxLink::Udp(udp) => {
                let mut room = ReadBuf::new(input);
                ready!(udp.poll_recv(cx, &mut room))?;
                Poll::Ready(Ok(Some(0..room.filled().len())))
            }
            IpxLink::Ether(frames, _) => loop {
                let mut readable = ready!(frames.poll_read_ready(cx))?;
                if let Ok(received) = readable.try_io(|frames| frames.get_ref().receive(input)) {
                    return Poll::Ready(received.map(|came| came.map(|(_, at)| at)));
                }
            },
        }
    }

    /// Tells the server that the client is there; should it get lost, the server asks again.
    fn answer_watchdog(&self, connection: u8) {
        let own = Address { socket: self.own.socket + 1, ..self.own };
        let alive = Notice::Alive.packet(u16::from(connection));
        let mut out = Vec::new();
        if let Ok(packet) = IpxPacket::new(packet_type::NCP, own, self.server, &alive) {
            packet.put(&mut out);
            let _ = match &self.link {
                IpxLink::Udp(udp) => udp.try_send(&out).map(|_| ()),
                IpxLink::Ether(frames, next) => frames.get_ref().send(*next, &out),
            };
        }
    }
}
