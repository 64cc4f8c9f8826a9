//! Packet burst on the server side: bursts are reassembled, executed once, and answered with fragments, which the
//! client may request again (docs/protocols/ncp.md 4.4).

use std::time::Duration;

use super::connection::Connection;
use super::datagrams::Datagrams;
use super::execute::Execution;
use super::mutex::lock;
use super::options::Environment;
use super::peer::Peer;
use super::server_burst::ServerBurst;
use super::service::Server;
use super::shared::Shared;
use super::volume::{Volume, VolumeResult};
use crate::burst::{BurstConnection, CALL_LEN, MAX_BURST, MAX_GAP, OutgoingBurst, fragment_len};
use crate::wire::TransportKind;
use crate::wire::burst::{BurstCall, BurstPacket, BurstReadReply, BurstWriteReply, READ, WRITE, flag};
use crate::wire::negotiate::{AcceptedBurst, OfferBurst};
use crate::wire::packet::BURST;
use crate::wire::{Codec, Completion};

/// Result codes of bursts (docs/protocols/ncp.md 4.3).
const DONE: u32 = 0;
const IO_ERROR: u32 = 2;
const NO_DATA: u32 = 3;
const WRITE_ERROR: u32 = 4;
/// Bytes of the header of a read reply.
const REPLY_LEN: usize = 8;
/// The largest packet of a burst.
const MAX_PACKET: u32 = 9000;

impl<V: Volume> Execution<'_, V> {
    /// 0x65 (docs/protocols/ncp.md 4.1). Bursts need datagrams without signatures.
    pub fn offer_burst(&mut self, offer: OfferBurst) -> VolumeResult<()> {
        // The client then continues with ordinary calls (docs/protocols/ncp.md 4.1). A signature has no place
        // in a burst packet.
        if self.transport == TransportKind::Tcp || self.connection.signer.is_some() {
            return Err(Completion::UnknownFunction);
        }
        // Clamped at both ends: the client's number determines how many packets a reply has.
        let largest = u32::from(self.shared.options.max_packet);
        let max_packet = offer.max_packet.clamp(256, MAX_PACKET.min(largest));
        // The id contains the connection number, so that no two clients have the same.
        let id = 0x0100_0000 | u32::from(self.connection.number);
        self.connection.burst =
            Some(ServerBurst::new(id, offer.id, fragment_len(max_packet, self.transport)));
        let limit = |requested: u32| requested.min(MAX_BURST as u32);
        let limits = Some((limit(offer.max_receive), limit(offer.max_send)));
        self.reply(&AcceptedBurst { id, max_packet, limits })
    }
}

impl<V: Volume, W: Environment> Server<V, W> {
    /// Processes a datagram, which is a burst packet or a call, and returns the answers.
    pub fn receive_datagram(
        &self,
        peer: Peer,
        transport: TransportKind,
        datagram: &[u8],
        out: &mut Datagrams,
    ) {
        match self.collect(peer, datagram, out) {
            PendingWork::Done => {}
            PendingWork::Call => out.push(|out| self.receive(peer, transport, datagram, out)),
            PendingWork::Burst => self.execute_burst(peer, out),
        }
    }

    /// The part of [`Self::receive_datagram`] that never waits for a volume. A front end that executes calls on other
    /// threads runs this part in the order of arrival, so that bursts stay in order; the returned value is the rest
    /// of the work.
    pub fn collect(&self, peer: Peer, datagram: &[u8], out: &mut Datagrams) -> PendingWork {
        if !datagram.starts_with(&BURST.to_be_bytes()) {
            return PendingWork::Call;
        }
        let Ok(packet) = BurstPacket::decode(datagram) else { return PendingWork::Done };
        let Some(known) = lock(&self.connections).get(peer) else { return PendingWork::Done };
        let now = self.environment.now();
        known.note_activity(now);
        let Ok(mut connection) = known.connection.try_lock() else {
            let fields = packet.fields;
            let mut connection = BurstConnection::new(fields.destination, fields.source, 0);
            // A request of this client is executing. Waiting for its lock would block the thread that receives
            // for all clients. An empty list always fits.
            out.push(|out| {
                connection.put_control(flag::BUSY, fields.burst, fields.burst, &[], out).unwrap_or_default();
            });
            return PendingWork::Done;
        };
        let welcome = connection.user.is_some();
        let ours =
            |burst: &&mut ServerBurst| welcome && packet.fields.destination == burst.connection.local_id;
        let more = connection.burst.as_ref().map_or(0, |burst| burst.further_bytes(&packet));
        if more > 0 && !connection.charge(more) {
            // The client sends it again.
            return PendingWork::Done;
        }
        let Some(burst) = connection.burst.as_mut().filter(ours) else { return PendingWork::Done };
        // The receiver of a burst determines its pace: it states the gap in its own packets
        // (docs/protocols/ncp.md 4.5).
        out.gap = Duration::from_micros(u64::from(packet.fields.delay) * 100).min(MAX_GAP);
        burst.pace = out.gap;
        burst.connection.gap = out.gap;
        if burst.take(&packet, now, out) { PendingWork::Burst } else { PendingWork::Done }
    }

    /// Executes the complete burst of a client, if there is one.
    pub fn execute_burst(&self, peer: Peer, out: &mut Datagrams) {
        let Some(known) = lock(&self.connections).get(peer) else { return };
        let mut connection = lock(&known.connection);
        // Taken out, because executing it borrows the connection.
        let Some(mut burst) = connection.burst.take() else { return };
        if let Some((number, whole)) = burst.incoming.take_if(|(_, incoming)| incoming.is_complete()) {
            let bytes = execute(&self.shared, &connection, whole.bytes());
            let reply = OutgoingBurst { burst: number, acknowledged: number.wrapping_add(1), bytes };
            let fragments = reply.fragments(burst.connection.fragment_len);
            // Kept until the next burst replaces it: the client may request any fragment again, and nothing is
            // executed twice (docs/protocols/ncp.md 4.4).
            burst.last = Some(reply);
            out.gap = burst.pace;
            burst.send(&fragments, out);
        }
        connection.burst = Some(burst);
        // Without memory for it, the reply is sent once.
        if !connection.charge(0)
            && let Some(last) = connection.burst.as_mut().and_then(|burst| burst.last.as_mut())
        {
            last.bytes = Vec::new();
        }
    }
}

/// The work still to do for a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingWork {
    /// None.
    Done,
    /// A call: [`Server::receive`].
    Call,
    /// A complete burst: [`Server::execute_burst`].
    Burst,
}

/// Executes a complete burst; returns the contents of the reply.
fn execute<V: Volume>(shared: &Shared<V>, connection: &Connection, burst: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let Ok(call) = BurstCall::decode(burst) else { return out };
    match call.function {
        READ => {
            let max_len = (MAX_BURST - CALL_LEN) as u32;
            BurstReadReply::put(&BurstReadReply { result: DONE, length: 0 }, &mut out);
            let count = call.length.min(max_len) as usize;
            let read = shared.read_into(connection, call.file, call.offset.into(), count, &mut out);
            let (result, length) = match read {
                Ok(0) if call.length > 0 => (NO_DATA, 0),
                Ok(length) => (DONE, length as u32),
                Err(_) => (IO_ERROR, 0),
            };
            // A failed read must not send the bytes that were read before the failure.
            out.truncate(REPLY_LEN + length as usize);
            let mut head = Vec::new();
            BurstReadReply::put(&BurstReadReply { result, length }, &mut head);
            out[..REPLY_LEN].copy_from_slice(&head);
        }
        WRITE => {
            let data = &burst[CALL_LEN..];
            // The call states the length and the burst has one: where they differ, nothing is written rather
            // than a part.
            let whole = data.len() == call.length as usize && !data.is_empty();
            let written = whole && shared.write(connection, call.file, call.offset.into(), data).is_ok();
            let result = if written { DONE } else { WRITE_ERROR };
            BurstWriteReply::put(&BurstWriteReply { result }, &mut out);
        }
        _ => BurstWriteReply::put(&BurstWriteReply { result: 1 }, &mut out),
    }
    out
}
