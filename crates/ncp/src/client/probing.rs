//! The largest packet that the path carries, found with probes that the server returns (large internet packets,
//! docs/protocols/ncp.md 2.2).

use std::future::poll_fn;
use std::io::ErrorKind;

use super::ClientError;
use super::exchange::Client;
use super::transport::Transport;
use crate::wire::TransportKind;
use crate::wire::ipx::HEADER_LEN;
use crate::wire::lip::{is_probe, put_probe};

const STEP: &str = "probe the path";
/// Packet sizes to probe when the largest does not return, including IPX headers: those of common links, and powers
/// of two between them.
const SIZES: [usize; 11] = [49_152, 32_768, 16_384, 8192, 4096, 2048, 1500, 1400, 1280, 1088, MIN_PACKET];
/// The packet size that every router forwards.
const MIN_PACKET: usize = 576;
/// Bytes for headers in a UDP packet in addition to its data; on IPX the packet size includes them.
const HEADERS: usize = 64;
/// The system's error for a datagram that is longer than the link carries.
#[cfg(unix)]
const TOO_LONG: i32 = libc::EMSGSIZE;
/// The error of Windows for a datagram that is longer than the link carries (`WSAEMSGSIZE`).
#[cfg(windows)]
const TOO_LONG: i32 = 10_040;
/// Bytes of the IP and UDP headers.
const IP_HEADERS: usize = 28;

/// The result of probing the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeResult {
    /// The path was not probed.
    NotProbed,
    /// No probe returned; the negotiated size stays.
    Unanswered,
    /// Size of the largest packet that returned, as 0x61 counts it.
    Packet(usize),
}

impl<C: Transport> Client<C> {
    /// Finds the largest packet of at most `limit` bytes. It probes that size alone first, then all sizes, at most
    /// twice.
    pub(super) async fn find_packet(
        &mut self,
        socket: u16,
        limit: usize,
    ) -> Result<ProbeResult, ClientError> {
        let smaller = SIZES.into_iter().filter(|size| *size < limit);
        let all: Vec<usize> = std::iter::once(limit).chain(smaller).collect();
        let mut best = None;
        for round in [&all[..1], &all, &all] {
            let better: Vec<usize> = round.iter().copied().filter(|size| Some(*size) > best).collect();
            for size in &better {
                match self.send_probe(socket, self.probe_len(*size)).await {
                    // The packet is too long for the local link.
                    Err(ClientError::Io { source, .. })
                        if matches!(source.kind(), ErrorKind::InvalidInput | ErrorKind::Other)
                            || source.raw_os_error() == Some(TOO_LONG) => {}
                    Err(ClientError::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
                        return Ok(ProbeResult::NotProbed);
                    }
                    Err(ClientError::Io { source, .. }) if source.kind() == ErrorKind::ConnectionRefused => {}
                    sent => sent?,
                }
            }
            let until = self.transport.now() + self.options.retry;
            while best < better.first().copied() {
                match self.receive_probe(until).await? {
                    Some(len) => {
                        best = best.max(all.iter().copied().find(|size| self.probe_len(*size) == len));
                    }
                    None => break,
                }
            }
            if best == Some(limit) {
                break;
            }
        }
        Ok(best.map_or(ProbeResult::Unanswered, ProbeResult::Packet))
    }

    /// Converts the packet size of a burst, which includes IP and UDP headers on UDP, into the size that 0x61 counts.
    pub(super) fn burst_size(&self, packet: u32) -> usize {
        match self.connection.transport_kind() {
            TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => packet as usize,
            TransportKind::Udp | TransportKind::Tcp => (packet as usize).saturating_sub(IP_HEADERS + HEADERS),
        }
    }

    /// The largest burst packet of at most `packet` bytes that the path carries.
    pub fn burst_packet(&self, packet: u32) -> u32 {
        let ProbeResult::Packet(size) = self.probed else { return packet };
        let headers = packet as usize - self.burst_size(packet);
        packet.min((size + headers) as u32)
    }

    /// Bytes of the probe that makes a packet of this size.
    fn probe_len(&self, size: usize) -> usize {
        match self.connection.transport_kind() {
            TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => size - HEADER_LEN,
            // The sum stays within the size of a datagram.
            TransportKind::Udp | TransportKind::Tcp => size + HEADERS,
        }
    }

    async fn send_probe(&mut self, socket: u16, len: usize) -> Result<(), ClientError> {
        let mut probe = Vec::with_capacity(len);
        put_probe(len, &mut probe);
        let deadline = self.transport.now() + self.options.timeout;
        let sent = poll_fn(|cx| self.transport.poll_send_probe(cx, socket, &probe, deadline)).await;
        sent.map_err(|source| ClientError::Io { step: STEP, source })?;
        self.counts.sent += len as u64;
        Ok(())
    }

    /// Length of the next probe that returns; none when the time is over.
    async fn receive_probe(&mut self, until: std::time::Duration) -> Result<Option<usize>, ClientError> {
        // Unrelated packets may arrive without end, so the time is checked after each of them.
        while self.transport.now() < until {
            match poll_fn(|cx| self.transport.poll_receive_probe(cx, until)).await {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                // Nothing listens on that port.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(None),
                Err(source) => return Err(ClientError::Io { step: STEP, source }),
            }
            let message = self.transport.message();
            self.counts.received += message.len() as u64;
            if is_probe(message) {
                return Ok(Some(message.len()));
            }
        }
        Ok(None)
    }
}
