//! A station on IPX in UDP: it registers with the server, and each datagram is one IPX packet (RFC 1234, ipxnet).

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sharebench_ncp::wire::WireError;
use sharebench_ncp::wire::ipx::{Address, HEADER_LEN, IpxPacket, packet_type, socket};
use sharebench_ncp::wire::ipx_udp::{assigned, put_registration};
use sharebench_ncp::wire::watchdog::Notice;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

/// The socket of requests; the watchdog's is one above (ncp.md 1.7).
const REQUESTS: u16 = 0x4010;
/// How often a registration is sent before nobody is taken to be there.
const REGISTRATIONS: u32 = 5;

/// Addresses of both ends, and the socket between them.
#[derive(Debug)]
pub(crate) struct Station {
    udp: UdpSocket,
    own: Address,
    server: Address,
    /// The packet being sent.
    packet: Vec<u8>,
}

fn unfit(error: WireError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl Station {
    /// Asks for a node until one is given; the server's own address is that of its answer.
    pub(crate) async fn register(udp: UdpSocket, retry: Duration) -> io::Result<Self> {
        let (mut registration, mut input) = (Vec::new(), [0; 600]);
        put_registration(&mut registration).map_err(unfit)?;
        let mut pause = retry;
        for _ in 0..REGISTRATIONS {
            udp.send(&registration).await?;
            if let Ok(received) = tokio::time::timeout(pause, udp.recv(&mut input)).await {
                let packet = IpxPacket::decode(&input[..received?]).map_err(unfit)?;
                if let Some(node) = assigned(&packet) {
                    let own = Address { network: packet.header.destination.network, node, socket: REQUESTS };
                    let server = Address { socket: socket::NCP, ..packet.header.source };
                    return Ok(Self { udp, own, server, packet: Vec::new() });
                }
            }
            pause *= 2;
        }
        Err(io::Error::new(ErrorKind::TimedOut, "nobody answers a registration of IPX in UDP"))
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.udp.local_addr().ok()
    }

    /// Sends a packet whole.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>, payload: &[u8]) -> Poll<io::Result<usize>> {
        self.packet.clear();
        let packet = IpxPacket::new(packet_type::NCP, self.own, self.server, payload);
        packet.map_err(unfit)?.put(&mut self.packet);
        ready!(self.udp.poll_send(cx, &self.packet))?;
        Poll::Ready(Ok(payload.len()))
    }

    /// Receives a packet: the length of what it carries, at the front of `input`; none when it is not for a request.
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        input: &mut [u8],
    ) -> Poll<io::Result<Option<usize>>> {
        let mut room = ReadBuf::new(input);
        ready!(self.udp.poll_recv(cx, &mut room))?;
        let Ok(packet) = IpxPacket::decode(room.filled()) else { return Poll::Ready(Ok(None)) };
        let (to, len) = (packet.header.destination.socket, packet.payload.len());
        if to == REQUESTS + 1 {
            if let Some((connection, Notice::Watchdog)) = Notice::decode(packet.payload) {
                self.answer_watchdog(connection);
            }
            return Poll::Ready(Ok(None));
        }
        if to != REQUESTS || len == 0 {
            return Poll::Ready(Ok(None));
        }
        input.copy_within(HEADER_LEN..HEADER_LEN + len, 0);
        Poll::Ready(Ok(Some(len)))
    }

    /// Tells the server that the client is there; should it get lost, the server asks again.
    fn answer_watchdog(&self, connection: u8) {
        let own = Address { socket: REQUESTS + 1, ..self.own };
        let alive = Notice::Alive.packet(u16::from(connection));
        let mut out = Vec::new();
        if let Ok(packet) = IpxPacket::new(packet_type::NCP, own, self.server, &alive) {
            packet.put(&mut out);
            let _ = self.udp.try_send(&out);
        }
    }
}
