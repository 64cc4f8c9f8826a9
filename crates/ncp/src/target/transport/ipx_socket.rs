//! An IPX socket: in UDP, where it registers for a node, or on Ethernet, where a search finds its server.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sharebench_target::readiness::AsyncFd;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use crate::ether::EtherSocket;
use crate::wire::ipx::{Address, HEADER_LEN, IpxPacket, NO_CHECKSUM, is_intact, packet_type, socket};
use crate::wire::ipx_udp::{assigned, put_registration};
use crate::wire::watchdog::Notice;
use crate::wire::{TransportKind, WireError};

/// The request socket in UDP; the watchdog socket is one above (docs/protocols/ncp.md 1.7).
const REQUESTS: u16 = 0x4010;
/// Times that a registration or query is sent before it fails.
pub(crate) const MAX_ATTEMPTS: u32 = 5;

/// The link under an IPX socket.
#[derive(Debug)]
pub(crate) enum IpxLink {
    Udp(UdpSocket),
    /// Ethernet frames, and the next hop: the server or a router.
    Ether(AsyncFd<EtherSocket>, [u8; 6]),
}

/// An IPX socket with the addresses of both ends.
///
/// It adds and removes IPX headers and checksums, discards packets to other addresses, and answers watchdog queries,
/// which arrive on the next socket number. It is created by a registration in UDP or by a search on Ethernet, and
/// serves one connection.
#[derive(Debug)]
pub(crate) struct IpxSocket {
    link: IpxLink,
    own: Address,
    server: Address,
    /// Routers on the path.
    routers: u16,
    /// True when packets have checksums.
    checks: bool,
    /// The packet that is being sent.
    packet: Vec<u8>,
}

pub(crate) fn unfit(error: WireError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl IpxSocket {
    /// A socket whose server and path are known.
    pub(crate) const fn new(link: IpxLink, own: Address, server: Address, routers: u16) -> Self {
        Self { link, own, server, routers, checks: false, packet: Vec::new() }
    }

    /// Registers in UDP until a node is assigned. The source of the answer is the address of the server.
    pub(crate) async fn register(udp: UdpSocket, retry: Duration) -> io::Result<Self> {
        let mut registration = Vec::new();
        let mut input = [0; 600];
        put_registration(&mut registration).map_err(unfit)?;
        let mut pause = retry;
        for _ in 0..MAX_ATTEMPTS {
            udp.send(&registration).await?;
            if let Ok(received) = tokio::time::timeout(pause, udp.recv(&mut input)).await {
                let packet = IpxPacket::decode(&input[..received?]).map_err(unfit)?;
                if let Some(node) = assigned(&packet) {
                    let own = Address { network: packet.header.destination.network, node, socket: REQUESTS };
                    let server = Address { socket: socket::NCP, ..packet.header.source };
                    return Ok(Self::new(IpxLink::Udp(udp), own, server, 0));
                }
            }
            // The registration is a datagram and may be lost.
            pause *= 2;
        }
        Err(io::Error::new(ErrorKind::TimedOut, "no answer to the registration for IPX in UDP"))
    }

    /// The local address: of UDP, or of IPX on Ethernet.
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

    /// The kind of transport.
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

    /// Sends a packet to a socket number of the server.
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

    /// Receives a packet and moves its payload to the front of `input`; returns its length, or none if it is not a
    /// reply.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        input: &mut [u8],
    ) -> Poll<io::Result<Option<usize>>> {
        let Some(at) = ready!(self.poll_packet(cx, input))? else { return Poll::Ready(Ok(None)) };
        let Ok(packet) = IpxPacket::decode(&input[at.clone()]) else { return Poll::Ready(Ok(None)) };
        let to = packet.header.destination;
        let len = packet.payload.len();
        // The IPX length and not that of the frame, because frames are padded to 60 bytes
        // (docs/protocols/ncp.md 1.7).
        let whole = &input[at.clone()][..HEADER_LEN + len];
        let bare = packet.header.checksum == NO_CHECKSUM;
        // Broadcasts and packets of other clients on the segment arrive here as well.
        if to.node != self.own.node || !is_intact(whole) || self.checks && bare {
            return Poll::Ready(Ok(None));
        }
        // The watchdog queries the socket after the client's (docs/protocols/ncp.md 1.7).
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

    /// The range of the next packet in `input`, which may include padding; none for a foreign frame.
    fn poll_packet(&self, cx: &mut Context<'_>, input: &mut [u8]) -> Poll<io::Result<Option<Range<usize>>>> {
        match &self.link {
            IpxLink::Udp(udp) => {
                let mut unfilled = ReadBuf::new(input);
                ready!(udp.poll_recv(cx, &mut unfilled))?;
                Poll::Ready(Ok(Some(0..unfilled.filled().len())))
            }
            IpxLink::Ether(frames, _) => loop {
                let mut readable = ready!(frames.poll_read_ready(cx))?;
                if let Ok(received) = readable.try_io(|frames| frames.get_ref().receive(input)) {
                    return Poll::Ready(received.map(|came| came.map(|(_, at)| at)));
                }
            },
        }
    }

    /// Answers a watchdog query. If the answer is lost, the server repeats the query.
    fn answer_watchdog(&self, connection: u8) {
        let own = Address { socket: self.own.socket + 1, ..self.own };
        let alive = Notice::Alive.packet(u16::from(connection));
        let mut out = Vec::new();
        if let Ok(packet) = IpxPacket::new(packet_type::NCP, own, self.server, &alive) {
            packet.put(&mut out);
            // A lost answer is repeated with the next query; the watchdog sends several.
            let _ = match &self.link {
                IpxLink::Udp(udp) => udp.try_send(&out).map(|_| ()),
                IpxLink::Ether(frames, next) => frames.get_ref().send(*next, &out),
            };
        }
    }
}
