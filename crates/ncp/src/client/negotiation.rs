//! Negotiation of buffer size, signatures and checksums by function 0x61 or 0x21 (docs/protocols/ncp.md 2.2, 5.2).

use super::ClientError;
use super::exchange::{Client, unless};
use super::options::{LargePackets, MAX_BUFFER, MIN_BUFFER, Negotiation};
use super::probing::ProbeResult;
use super::transport::Transport;
use crate::security::level::Level;
use crate::wire::Completion;
use crate::wire::negotiate::{AcceptedPacketSize, NegotiateBuffer, NegotiatedBuffer, PacketSize, Security};

const STEP: &str = "negotiate";
/// Bytes of headers in an IPX packet.
const IPX_HEADERS: u16 = 64;
/// Bytes that a signature adds to a packet.
const SIGNATURE: u16 = 8;
/// Data bytes of a packet that every router forwards. Without a probe of the path, no larger packet is sent through a
/// router.
const ROUTED_BUFFER: u16 = 512;

impl<C: Transport> Client<C> {
    /// Negotiates everything. The first proposal requests what the options prefer.
    pub(super) async fn negotiate(&mut self) -> Result<(), ClientError> {
        let levels = self.levels();
        let requested = levels.into_iter().filter(|(level, _)| *level >= Level::IfPossible);
        let requested = requested.fold(Security(0), |all, (_, bit)| all.with(bit));
        self.negotiate_with(requested).await
    }

    /// Negotiates with the security bits `requested`. A server that prefers further bits sets them unrequested in its
    /// reply; those that the options allow on request are then requested in a second call.
    pub(super) async fn negotiate_with(&mut self, requested: Security) -> Result<(), ClientError> {
        if self.options.negotiation == Negotiation::BufferOnly {
            return self.negotiate_buffer().await;
        }
        let wanted = self.wanted();
        let Some(mut accepted) = self.propose(requested, wanted).await? else {
            return self.negotiate_buffer().await;
        };
        let waiting = self.levels().into_iter().filter(|(level, bit)| {
            *level == Level::IfRequested && Security(accepted.security).has(*bit) && !requested.has(*bit)
        });
        let more = waiting.fold(requested, |all, (_, bit)| all.with(bit));
        if more != requested {
            accepted = self.propose(more, wanted).await?.unwrap_or(accepted);
        }
        let agreed = Security(accepted.security).both(more);
        self.probe(more, accepted.echo_socket).await?;
        self.signs = agreed.has(Security::SIGNATURE);
        self.checks = agreed.has(Security::CHECKSUM);
        self.transport.use_checksums(self.checks);
        Ok(())
    }

    /// The level and the security bit of each feature that this transport supports.
    fn levels(&self) -> [(Level, Security); 2] {
        let checksums = if self.transport.has_checksums() { self.options.checksums } else { Level::Never };
        [(self.options.signatures, Security::SIGNATURE), (checksums, Security::CHECKSUM)]
    }

    fn wanted(&self) -> u16 {
        let limit = if self.transport.is_routed() && self.options.large_packets == LargePackets::Off {
            ROUTED_BUFFER
        } else {
            MAX_BUFFER
        };
        self.options.buffer.clamp(MIN_BUFFER, limit)
    }

    /// Bytes of a packet in addition to its data. On IPX the negotiated size includes the headers
    /// (docs/protocols/ncp.md 2.2).
    fn overhead(&self, security: Security) -> u16 {
        let ipx = self.connection.transport_kind().is_ipx();
        let signature = if security.has(Security::SIGNATURE) { SIGNATURE } else { 0 };
        signature + if ipx { IPX_HEADERS } else { 0 }
    }

    /// Calls 0x61 for `wanted` data bytes; none when the server does not support it.
    async fn propose(
        &mut self,
        security: Security,
        wanted: u16,
    ) -> Result<Option<AcceptedPacketSize>, ClientError> {
        let proposed = wanted + self.overhead(security);
        let overhead = self.overhead(security);
        let lip = match self.options.large_packets {
            LargePackets::Off => Security::NO_LARGE_PACKETS,
            LargePackets::Probe | LargePackets::Known => Security(0),
        };
        let call = PacketSize { proposed, security: security.with(lip).0 };
        let accepted = self.ask::<AcceptedPacketSize>(STEP, &call.into()).await;
        let Some(accepted) = unless(accepted, &[Completion::UnknownFunction])? else { return Ok(None) };
        // A server that answers 0 accepts the proposed size (docs/protocols/ncp.md 2.2).
        let size = if accepted.accepted == 0 { proposed } else { accepted.accepted };
        self.buffer = size.saturating_sub(overhead).clamp(MIN_BUFFER, wanted);
        Ok(Some(accepted))
    }

    /// Calls 0x21, which negotiates the buffer size only.
    async fn negotiate_buffer(&mut self) -> Result<(), ClientError> {
        let proposed = self.wanted();
        let NegotiatedBuffer { accepted } = self.ask(STEP, &NegotiateBuffer { proposed }.into()).await?;
        self.buffer = accepted.clamp(MIN_BUFFER, proposed);
        self.signs = false;
        self.checks = false;
        self.transport.use_checksums(false);
        Ok(())
    }

    /// Probes for large internet packets and negotiates a smaller size where the path requires one.
    async fn probe(&mut self, requested: Security, socket: u16) -> Result<(), ClientError> {
        let datagrams = self.connection.transport_kind().is_datagram();
        let probes = self.options.large_packets == LargePackets::Probe && datagrams;
        if !probes || socket == 0 || self.probed != ProbeResult::NotProbed {
            return Ok(());
        }
        let overhead = usize::from(self.overhead(requested));
        let limit = usize::from(self.buffer) + overhead;
        let burst = self.options.burst.map_or(0, |burst| self.burst_size(burst.packet));
        self.probed = self.find_packet(socket, limit.max(burst)).await?;
        if let ProbeResult::Packet(size) = self.probed
            && size < limit
        {
            let data = size.saturating_sub(overhead) as u16;
            self.propose(requested, data.max(MIN_BUFFER)).await?;
        }
        Ok(())
    }
}
