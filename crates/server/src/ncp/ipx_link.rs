//! The link under the IPX server: UDP datagrams or Ethernet frames.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use sharebench_ncp::ether::EtherSocket;
use sharebench_ncp::wire::TransportKind;
use sharebench_target::readiness::AsyncFd;
use tokio::net::UdpSocket;

/// The source of a packet on the link, to which the reply goes: the client or the last router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkAddress {
    Udp(SocketAddr),
    Ether([u8; 6]),
}

/// A socket that receives and sends IPX packets.
#[derive(Debug)]
pub(super) enum IpxLink {
    /// RFC 1234 and ipxnet of `DOSBox`.
    Udp(UdpSocket),
    Ether(AsyncFd<Arc<EtherSocket>>),
}

impl IpxLink {
    /// The range of the next packet in `input`, which may include padding, and its source.
    pub(super) async fn receive(&self, input: &mut [u8]) -> io::Result<(Range<usize>, LinkAddress)> {
        match self {
            Self::Udp(udp) => {
                let (len, client) = udp.recv_from(input).await?;
                Ok((0..len, LinkAddress::Udp(client)))
            }
            Self::Ether(socket) => loop {
                let mut ready = socket.readable().await?;
                match ready.try_io(|socket| socket.get_ref().receive(input)) {
                    Ok(Ok(Some((from, at)))) => return Ok((at, LinkAddress::Ether(from))),
                    // A foreign frame, or the socket is no longer readable.
                    Ok(Ok(None)) | Err(_) => {}
                    Ok(Err(error)) => return Err(error),
                }
            },
        }
    }

    /// Sends a packet. Errors are only logged, because the protocol handles loss.
    pub(super) async fn send(&self, packet: &[u8], hop: LinkAddress) {
        let sent = match (self, hop) {
            (Self::Udp(udp), LinkAddress::Udp(client)) => udp.send_to(packet, client).await.map(|_| ()),
            (Self::Ether(socket), LinkAddress::Ether(mac)) => send_frame(socket, packet, mac).await,
            // A link only returns addresses of its own kind.
            _ => Ok(()),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, ?hop, "IPX packet not sent");
        }
    }

    /// The kind of transport.
    pub(super) const fn kind(&self) -> TransportKind {
        match self {
            Self::Udp(_) => TransportKind::IpxInUdp,
            Self::Ether(_) => TransportKind::IpxOnEthernet,
        }
    }

    /// The Ethernet socket, if the link is an Ethernet.
    pub(super) fn ether(&self) -> Option<&EtherSocket> {
        match self {
            Self::Udp(_) => None,
            Self::Ether(socket) => Some(socket.get_ref()),
        }
    }

    /// True when packets may have checksums; RFC 1234 forbids them.
    pub(super) fn has_checksums(&self) -> bool {
        self.ether().is_some_and(|ether| ether.framing().has_checksums())
    }
}

async fn send_frame(socket: &AsyncFd<Arc<EtherSocket>>, packet: &[u8], mac: [u8; 6]) -> io::Result<()> {
    loop {
        match socket.get_ref().send(mac, packet) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            sent => return sent,
        }
        let mut ready = socket.writable().await?;
        if let Ok(sent) = ready.try_io(|socket| socket.get_ref().send(mac, packet)) {
            return sent;
        }
    }
}
