//! Packet burst on the server side: bursts are reassembled, executed once, and answered with fragments, which the
//! client may request again (docs/protocols/ncp.md 4.4).

use std::time::Duration;

use super::connection::Connection;
use super::execute::Execution;
use super::volume::{Volume, VolumeResult};
use super::{Environment, Peer, Server, Shared, lock};
use crate::burst::{
    ArrivalSpacing, BurstConnection, CALL_LEN, Fragment, MAX_BURST, MAX_GAP, OutgoingBurst, Reassembly,
    fragment_len,
};
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

/// Datagrams to one client in order, and the pause between them.
#[derive(Debug, Clone, Default)]
pub struct Datagrams {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Pause between two datagrams.
    pub gap: Duration,
}

impl Datagrams {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all datagrams but keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.gap = Duration::ZERO;
    }

    /// True when the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The datagrams in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    /// Appends the bytes that `put` writes as one datagram; nothing if it writes none.
    fn push(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.bytes);
        if self.bytes.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.bytes.len());
        }
    }
}

/// The burst side of a connection: its burst connection, the last reply and the burst in progress.
#[derive(Debug)]
pub struct ServerBurst {
    connection: BurstConnection,
    /// The reply to the last burst; its burst number is the number of the last executed burst.
    last: Option<OutgoingBurst>,
    /// The number and the reassembly of an incomplete burst.
    incoming: Option<(u16, Reassembly)>,
    /// The pause between packets that the client requests.
    pace: Duration,
    /// Arrivals of the fragments of the burst in progress, from which the client learns the pace of the path.
    spacing: ArrivalSpacing,
}

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

impl ServerBurst {
    /// The burst side of a connection that has just negotiated bursts.
    fn new(local_id: u32, remote_id: u32, fragment_len: usize) -> Self {
        Self {
            connection: BurstConnection::new(local_id, remote_id, fragment_len),
            last: None,
            incoming: None,
            pace: Duration::ZERO,
            spacing: ArrivalSpacing::default(),
        }
    }

    /// Bytes that a packet would make it keep.
    fn further_bytes(&self, packet: &BurstPacket<'_>) -> usize {
        let known = self.incoming.as_ref().is_some_and(|(number, _)| *number == packet.fields.burst);
        if known { 0 } else { (packet.fields.total as usize).min(MAX_BURST) }
    }

    /// Bytes of the burst that is incomplete and of the last reply.
    pub fn bytes(&self) -> usize {
        let incoming = self.incoming.as_ref().map_or(0, |(_, burst)| burst.total());
        let last = self.last.as_ref().map_or(0, |last| last.bytes.len());
        2 * size_of::<Self>() + incoming + last
    }

    /// Processes a packet; true when it completes a burst.
    fn take(&mut self, packet: &BurstPacket<'_>, now: Duration, out: &mut Datagrams) -> bool {
        let fields = packet.fields;
        let number = packet.fields.burst;
        let answered = self.last.as_ref().is_some_and(|last| last.burst == number);
        if fields.flags & flag::ABORT != 0 {
            self.incoming = None;
        } else if fields.flags & flag::SYSTEM != 0 {
            if let Some(last) = self.last.as_ref().filter(|_| answered) {
                let fragments = last.missing_fragments(packet.missing(), self.connection.fragment_len);
                self.send(&fragments, out);
            }
        } else if answered {
            // The client retransmits because the reply was lost. Only the last fragment triggers the reply, so that
            // late duplicates of other fragments do not.
            if let Some(last) = self.last.as_ref().filter(|_| fields.flags & flag::END_OF_BURST != 0) {
                let fragments = last.fragments(self.connection.fragment_len);
                self.send(&fragments, out);
            }
        } else if self.last.as_ref().is_none_or(|last| last.burst.wrapping_add(1) == number) {
            return self.collect(packet, now, out);
        }
        false
    }

    /// Adds a fragment of the next burst; true when the burst is complete.
    fn collect(&mut self, packet: &BurstPacket<'_>, now: Duration, out: &mut Datagrams) -> bool {
        let fields = packet.fields;
        let number = packet.fields.burst;
        let total = fields.total as usize;
        // The length is the client's word and sizes a buffer, so it is checked before anything is allocated.
        if !(CALL_LEN..=MAX_BURST).contains(&total) {
            return false;
        }
        if !self.incoming.as_ref().is_some_and(|(known, burst)| *known == number && burst.total() == total) {
            self.incoming = Some((number, Reassembly::new(total)));
            self.spacing = ArrivalSpacing::default();
        }
        self.spacing.note(now);
        let Some((_, burst)) = &mut self.incoming else { return false };
        burst.add(fields.offset as usize, packet.data());
        let complete = burst.is_complete();
        let ends = fields.flags & flag::END_OF_BURST != 0;
        // The answer states the gap that its receiver measured (docs/protocols/ncp.md 4.5); that of a single packet is
        // the client's own.
        if (complete || ends)
            && let Some(measured) = self.spacing.median()
        {
            self.connection.gap = measured;
        }
        if complete {
            return true;
        }
        if ends {
            let holes = burst.holes();
            // The list is limited to what one packet holds.
            out.push(|out| self.connection.put_control(0, number, number, &holes, out).unwrap_or_default());
        }
        false
    }

    fn send(&mut self, fragments: &[Fragment], out: &mut Datagrams) {
        let Some(last) = &self.last else { return };
        for fragment in fragments {
            // A fragment always fits into its packet.
            out.push(|out| self.connection.put_fragment(last, *fragment, out).unwrap_or_default());
        }
    }
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
