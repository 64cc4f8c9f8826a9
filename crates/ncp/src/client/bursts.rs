//! Packet burst on the client side: a transfer larger than one packet is split into fragments, and lost fragments are
//! requested again (docs/protocols/ncp.md 4.4).

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::ClientError;
use super::exchange::{Client, MAX_PAUSE, wire};
use super::transport::Transport;
use crate::burst::{
    ArrivalSpacing, BurstConnection, BurstOutcome, BurstUse, CALL_LEN, Fragment, OutgoingBurst, RateControl,
    RateOptions, Reassembly, fragment_len, next_departure,
};
use crate::wire::burst::{
    BurstCall, BurstPacket, BurstReadReply, BurstWriteReply, Missing, READ, WRITE, flag,
};
use crate::wire::negotiate::{AcceptedBurst, OfferBurst};
use crate::wire::{Codec, Completion, ShortHandle};

/// The burst connection id of every client. One value suffices, because the transport identifies the client.
const OWN: u32 = 1;
/// Bytes of the header of a read reply.
const REPLY_LEN: usize = 8;
/// Result codes of a successful read (docs/protocols/ncp.md 4.3).
const DONE: u32 = 0;
const NO_DATA: u32 = 3;

/// Which way the data of a transfer go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the server.
    Read,
    /// To the server.
    Write,
}

/// The largest windows of reads and writes, for servers that send and receive at most this many bytes in a burst. The limits
/// include the head of the reply to a read, and the call of a write.
fn windows(wanted: u32, send: u32, receive: u32) -> [usize; 2] {
    [send.saturating_sub(REPLY_LEN as u32), receive.saturating_sub(CALL_LEN as u32)]
        .map(|limit| limit.min(wanted) as usize)
}

/// The burst connection of a client and the transfer in progress on it. It exists from a successful offer (function
/// 0x65) to the end of the NCP connection or the next login.
#[derive(Debug)]
pub(super) struct ClientBurst {
    connection: BurstConnection,
    /// The largest windows of reads and of writes.
    windows: [usize; 2],
    /// Rate control of reads, which this client receives, and of writes.
    reads: RateControl,
    writes: RateControl,
    /// The shortest time between a burst and its answer.
    round_trip: Option<Duration>,
    next: u16,
    transfer: Option<Transfer>,
    /// Data of the last read.
    data: Option<Vec<u8>>,
}

/// A burst read or write in progress: the outgoing burst, the packets of it that are still to be sent, and the
/// reassembly of the reply.
#[derive(Debug)]
struct Transfer {
    out: OutgoingBurst,
    /// The largest number of data bytes in the reply; none for a write.
    expected: Option<usize>,
    answer: Option<Reassembly>,
    queue: VecDeque<OutgoingPacket>,
    /// The packet that is being sent.
    packet: Vec<u8>,
    /// The earliest time at which the next packet may be sent.
    next: Duration,
    /// When the first packet was sent, and the last one so far.
    started: Option<Duration>,
    sent: Duration,
    /// Fragments that were requested again.
    lost: usize,
    /// Arrivals of the fragments of the reply.
    spacing: ArrivalSpacing,
    /// The time that the path takes for a packet of this client, as far as the server's packets show it.
    path_spacing: Option<Duration>,
}

impl Transfer {
    const fn is_read(&self) -> bool {
        self.expected.is_some()
    }
}

/// A packet in the queue of a transfer: a part of the burst, or a list of what is missing of the reply.
#[derive(Debug)]
enum OutgoingPacket {
    Fragment(Fragment),
    MissingList(Vec<Missing>),
}

impl<C: Transport> Client<C> {
    /// Calls 0x65 if bursts are wanted and possible: on datagrams without signatures.
    pub(super) async fn offer_burst(&mut self) -> Result<(), ClientError> {
        const STEP: &str = "offer burst";
        // A second login negotiates anew; ids of an earlier burst connection are not valid any more.
        self.burst = None;
        let transport = self.connection.transport_kind();
        let Some(options) = self.options.burst.filter(|_| transport.is_datagram() && !self.signs) else {
            return Ok(());
        };
        let packet = self.burst_packet(options.packet);
        // The call of 24 bytes precedes the data of a write in the same burst (docs/protocols/ncp.md 4.3).
        let limit = options.window + CALL_LEN as u32;
        let offer =
            OfferBurst { id: OWN, max_packet: packet, socket: 0, max_send: limit, max_receive: limit };
        let accepted = match self.call(STEP, &offer.into()).await {
            Ok(data) => AcceptedBurst::decode(data).map_err(wire(STEP))?,
            // The server does not support bursts: ordinary calls are used instead.
            Err(ClientError::Refused { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        // The documented reply has 8 bytes; only mars appends limits (docs/protocols/ncp.md 4.1).
        let (send, receive) = accepted.limits.unwrap_or((limit, limit));
        let windows = windows(options.window, send, receive);
        let fragment_len = fragment_len(accepted.max_packet.min(packet), transport);
        let connection =
            BurstConnection { gap: options.gap, ..BurstConnection::new(OWN, accepted.id, fragment_len) };
        let [reads, writes] = windows.map(|window| {
            RateControl::new(RateOptions {
                fragment_len,
                window,
                adapts_window: options.adapts_window,
                gap: options.gap,
                adapts_gap: options.adapts_gap,
            })
        });
        self.burst = Some(ClientBurst {
            connection,
            windows,
            reads,
            writes,
            round_trip: None,
            next: 0,
            transfer: None,
            data: None,
        });
        Ok(())
    }

    /// The largest number of data bytes of a burst; 0 without bursts.
    pub fn window(&self, direction: Direction) -> usize {
        self.burst.as_ref().map_or(0, |burst| burst.windows[direction as usize])
    }

    /// The windows and gaps that bursts used; none without bursts.
    pub fn burst_use(&self) -> Option<BurstUse> {
        self.burst.as_ref().map(|burst| burst.reads.used().merge(burst.writes.used()))
    }

    /// Data bytes that the next read at an offset should request: [`Self::max_transfer`], or less while the window of
    /// bursts is smaller.
    pub fn next_read(&self, offset: u64, len: usize) -> usize {
        self.next_transfer(Direction::Read, offset, len)
    }

    /// Data bytes that the next write at an offset should carry, like [`Self::next_read`].
    pub fn next_write(&self, offset: u64, len: usize) -> usize {
        self.next_transfer(Direction::Write, offset, len)
    }

    fn next_transfer(&self, direction: Direction, offset: u64, len: usize) -> usize {
        let most = self.max_transfer(direction, offset, len);
        match &self.burst {
            Some(burst) if self.suits_burst(direction, offset, len) => {
                let control = if direction == Direction::Read { &burst.reads } else { &burst.writes };
                most.min(control.window())
            }
            _ => most,
        }
    }

    /// True when a transfer uses a burst: it and the window are larger than a packet and an ordinary call, and it is
    /// within the 32-bit offsets of bursts.
    pub(super) fn suits_burst(&self, direction: Direction, offset: u64, len: usize) -> bool {
        let near = offset.checked_add(len as u64).is_some_and(|end| u32::try_from(end).is_ok());
        let alone = |burst: &ClientBurst| burst.connection.fragment_len.min(usize::from(self.buffer));
        let window = self.window(direction);
        self.burst.as_ref().is_some_and(|burst| near && len.min(window) > alone(burst))
    }

    pub(super) fn has_burst(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| burst.transfer.is_some())
    }

    /// Drops the data of the last burst, because an ordinary call follows.
    pub(super) fn discard_burst_data(&mut self) {
        if let Some(burst) = &mut self.burst {
            burst.data = None;
        }
    }

    /// The data of the last read, if it used a burst.
    pub(super) fn burst_data(&self) -> Option<&[u8]> {
        self.burst.as_ref()?.data.as_deref()
    }

    pub(super) fn begin_burst_read(
        &mut self,
        step: &'static str,
        file: ShortHandle,
        offset: u32,
        count: u32,
    ) {
        let call = BurstCall { function: READ, file, offset, length: count };
        self.begin_burst(step, &call, &[], Some(count as usize));
    }

    pub(super) fn begin_burst_write(
        &mut self,
        step: &'static str,
        file: ShortHandle,
        offset: u32,
        data: &[u8],
    ) {
        let call = BurstCall { function: WRITE, file, offset, length: data.len() as u32 };
        self.begin_burst(step, &call, data, None);
    }

    fn begin_burst(&mut self, step: &'static str, call: &BurstCall, data: &[u8], expected: Option<usize>) {
        self.begin_wait(step);
        let now = self.transport.now();
        let Some(burst) = &mut self.burst else { return };
        let number = burst.next;
        burst.next = number.wrapping_add(1);
        // The acknowledgement covers the previous reply.
        // The reply to burst n has the number n, so n - 1 was received and n is expected next.
        let mut out = OutgoingBurst { burst: number, acknowledged: number, bytes: Vec::new() };
        BurstCall::put(call, &mut out.bytes);
        out.bytes.extend_from_slice(data);
        let queue =
            out.fragments(burst.connection.fragment_len).into_iter().map(OutgoingPacket::Fragment).collect();
        burst.data = None;
        let control = if expected.is_some() { &burst.reads } else { &burst.writes };
        // It is stated in all packets, and the server keeps it between the packets of its reply.
        burst.connection.gap = control.gap();
        burst.transfer = Some(Transfer {
            out,
            expected,
            answer: None,
            queue,
            packet: Vec::new(),
            next: now,
            started: None,
            sent: now,
            lost: 0,
            spacing: ArrivalSpacing::default(),
            path_spacing: None,
        });
    }

    /// Sends and receives until the reply is complete.
    pub(super) fn poll_burst(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        let step = self.wait.step;
        let io = |source| ClientError::Io { step, source };
        let ended = loop {
            if let Err(error) = ready!(self.poll_watchdog_reply(cx)) {
                break Err(io(error));
            }
            let until = match ready!(self.poll_send_packets(cx)) {
                Ok(until) => until,
                Err(error) => break Err(io(error)),
            };
            match ready!(self.transport.poll_receive(cx, until)) {
                Ok(true) => {
                    self.counts.received += self.transport.message().len() as u64;
                    if let Some(done) = self.handle_burst_packet() {
                        break done;
                    }
                }
                Ok(false) => {}
                Err(error) => break Err(io(error)),
            }
            if self.transport.now() >= self.wait.deadline {
                break Err(io(ErrorKind::TimedOut.into()));
            }
            self.request_missing();
        };
        if let Some(burst) = &mut self.burst {
            burst.end_transfer();
        }
        Poll::Ready(ended)
    }

    /// Sends the packets whose time has come; returns when to continue.
    fn poll_send_packets(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Duration>> {
        let quiet = self.wait.again.min(self.wait.deadline);
        let Some(ClientBurst { connection, transfer: Some(transfer), .. }) = &mut self.burst else {
            return Poll::Ready(Ok(quiet));
        };
        while let Some(packet) = transfer.queue.front() {
            // The gap is kept by waiting in `poll_receive`, so that a missing-fragment list that arrives
            // meanwhile is served at once.
            if self.transport.now() < transfer.next {
                return Poll::Ready(Ok(transfer.next.min(self.wait.deadline)));
            }
            // The packet is built once: a send that is not ready must be repeated with the same bytes, and
            // building it again would consume another packet sequence number.
            if transfer.packet.is_empty() {
                let number = transfer.out.burst;
                let out = &mut transfer.packet;
                let put = match packet {
                    OutgoingPacket::Fragment(fragment) => {
                        connection.put_fragment(&transfer.out, *fragment, out)
                    }
                    OutgoingPacket::MissingList(missing) => {
                        connection.put_control(0, number, number, missing, out)
                    }
                };
                put.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            }
            ready!(self.transport.poll_send(cx, &transfer.packet, self.wait.deadline))?;
            self.counts.sent += transfer.packet.len() as u64;
            transfer.packet.clear();
            transfer.queue.pop_front();
            let now = self.transport.now();
            transfer.next = next_departure(transfer.next, now, connection.gap);
            transfer.started.get_or_insert(now);
            transfer.sent = now;
            // The silence is measured from the last packet sent. Otherwise a long burst with a gap would time
            // out while it is being sent.
            self.wait.again = now + self.wait.pause;
        }
        Poll::Ready(Ok(self.wait.again.min(self.wait.deadline)))
    }

    /// After a timeout, requests the missing fragments, or retransmits the last fragment if the server has not
    /// answered at all.
    fn request_missing(&mut self) {
        let now = self.transport.now();
        let Some(ClientBurst { connection, transfer: Some(transfer), .. }) = &mut self.burst else { return };
        // While packets wait to be sent, the server cannot have answered yet.
        if now < self.wait.again || !transfer.queue.is_empty() {
            return;
        }
        self.wait.pause = (self.wait.pause * 2).min(self.options.retry * MAX_PAUSE);
        self.wait.again = now + self.wait.pause;
        self.counts.resent += 1;
        let (lost, packet) = match &transfer.answer {
            Some(answer) => {
                let holes = answer.holes();
                (lost_fragments(&holes, connection.fragment_len), Some(OutgoingPacket::MissingList(holes)))
            }
            // The last fragment makes the server list the others that it lacks.
            None => (1, transfer.out.fragments(connection.fragment_len).pop().map(OutgoingPacket::Fragment)),
        };
        transfer.lost += lost;
        self.counts.lost_fragments += lost as u64;
        transfer.queue.extend(packet);
    }

    /// Handles a burst packet: the result of the transfer, or none if it continues.
    fn handle_burst_packet(&mut self) -> Option<Result<(), ClientError>> {
        let step = self.wait.step;
        if self.take_watchdog() {
            return None;
        }
        let packet = BurstPacket::decode(self.transport.message()).ok()?;
        let now = self.transport.now();
        let Some(ClientBurst { connection, transfer: Some(transfer), data, round_trip, .. }) =
            &mut self.burst
        else {
            return None;
        };
        let fields = packet.fields;
        // Duplicates of an older burst must be discarded (docs/protocols/ncp.md 4.4).
        if (fields.destination, fields.source, fields.burst)
            != (connection.local_id, connection.remote_id, transfer.out.burst)
        {
            return None;
        }
        if fields.flags & flag::ABORT != 0 {
            return Some(Err(ClientError::BurstAborted { step }));
        }
        // Busy is no loss: the server has the burst and needs time (docs/protocols/ncp.md 4.4).
        if fields.flags & flag::BUSY != 0 {
            self.extend_for_busy();
            return None;
        }
        // Any packet of this burst shows that the server is alive, so the pauses start small again.
        self.wait.pause = self.options.retry;
        self.wait.again = now + self.wait.pause;
        transfer.note_round_trip(now, round_trip);
        if fields.flags & flag::SYSTEM != 0 {
            let again = transfer.out.missing_fragments(packet.missing(), connection.fragment_len);
            transfer.note_missing(again.len(), fields.delay, now, *round_trip, connection);
            self.counts.resent += u64::from(!again.is_empty());
            self.counts.lost_fragments += again.len() as u64;
            transfer.queue.extend(again.into_iter().map(OutgoingPacket::Fragment));
            return None;
        }
        // The total comes from the server and sizes the buffer of the reassembly, so it is bounded by what was
        // requested. Only the first packet decides: mars sets another total in retransmissions.
        let limit = REPLY_LEN + transfer.expected.unwrap_or(0);
        let total = fields.total as usize;
        if transfer.answer.is_none() && total > limit {
            return None;
        }
        let answer = transfer.answer.get_or_insert_with(|| Reassembly::new(total));
        answer.add(fields.offset as usize, packet.data());
        transfer.spacing.note(now);
        if !answer.is_complete() {
            // A missing-fragment list that is still queued is not queued twice.
            if fields.flags & flag::END_OF_BURST != 0 && transfer.queue.is_empty() {
                let holes = answer.holes();
                let lost = lost_fragments(&holes, connection.fragment_len);
                transfer.lost += lost;
                self.counts.resent += 1;
                self.counts.lost_fragments += lost as u64;
                transfer.queue.push_back(OutgoingPacket::MissingList(holes));
            }
            return None;
        }
        let (done, found) = result_of(step, transfer.expected, answer.bytes());
        *data = found;
        Some(done)
    }
}

impl ClientBurst {
    /// Ends the transfer in progress and reports it to the rate control.
    fn end_transfer(&mut self) {
        let Some(transfer) = self.transfer.take() else { return };
        let fragment_len = self.connection.fragment_len.max(1);
        let (control, len, spacing) = if transfer.is_read() {
            let len = transfer.answer.as_ref().map_or(0, Reassembly::total);
            (&mut self.reads, len, transfer.spacing.median())
        } else {
            (&mut self.writes, transfer.out.bytes.len(), transfer.path_spacing)
        };
        control.note_burst(BurstOutcome {
            packets: len.div_ceil(fragment_len),
            lost: transfer.lost,
            spacing,
        });
    }
}

impl Transfer {
    /// Notes the first answer to the packets sent, unless one of them was lost and sent again.
    fn note_round_trip(&self, now: Duration, round_trip: &mut Option<Duration>) {
        let unanswered = self.answer.is_none() && self.lost == 0 && self.queue.is_empty();
        if unanswered && self.started.is_some() {
            let trip = now.saturating_sub(self.sent);
            *round_trip = Some(round_trip.map_or(trip, |known| known.min(trip)));
        }
    }

    /// Notes fragments that the server has not received, and the time that the path took for those that it has: as the
    /// server measured it, or else what the burst took longer than a round trip.
    fn note_missing(
        &mut self,
        missing: usize,
        delay: u32,
        now: Duration,
        round_trip: Option<Duration>,
        connection: &BurstConnection,
    ) {
        let arrived = self.out.bytes.len().div_ceil(connection.fragment_len.max(1)).saturating_sub(missing);
        let reported = Duration::from_micros(u64::from(delay) * 100);
        // A server that does not measure repeats the gap of the client.
        let measured = Some(reported).filter(|gap| !gap.is_zero() && *gap != connection.gap);
        let first = self.lost == 0;
        self.lost += missing;
        let (Some(started), Ok(arrived)) = (self.started, u32::try_from(arrived)) else { return };
        let longer = now.saturating_sub(started).saturating_sub(round_trip.unwrap_or_default());
        // Later lists come after pauses, which would be taken for a slow path.
        let estimated = longer.checked_div(arrived).filter(|_| first);
        self.path_spacing = measured.or(estimated).or(self.path_spacing);
    }
}

/// Number of fragments in missing ranges.
fn lost_fragments(holes: &[Missing], fragment_len: usize) -> usize {
    holes.iter().map(|hole| usize::from(hole.length).div_ceil(fragment_len.max(1))).sum()
}

/// The result of a transfer and the data that was read, from a complete reply.
fn result_of(
    step: &'static str,
    expected: Option<usize>,
    answer: &[u8],
) -> (Result<(), ClientError>, Option<Vec<u8>>) {
    let refused = ClientError::Refused { step, completion: Completion::HardIoError };
    if expected.is_none() {
        return match BurstWriteReply::decode(answer) {
            Ok(BurstWriteReply { result: DONE }) => (Ok(()), None),
            Ok(_) => (Err(refused), None),
            Err(error) => (Err(wire(step)(error)), None),
        };
    }
    match BurstReadReply::decode(answer) {
        Ok(BurstReadReply { result: DONE, .. }) => (Ok(()), Some(answer[REPLY_LEN..].to_vec())),
        Ok(BurstReadReply { result: NO_DATA, .. }) => (Ok(()), Some(Vec::new())),
        Ok(_) => (Err(refused), None),
        Err(error) => (Err(wire(step)(error)), None),
    }
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn reads_and_writes_have_limits_of_their_own() {
        for (send, receive, expected) in [
            (65_536, 65_536, [61_440, 61_440]),
            (61_448, 61_464, [61_440, 61_440]),
            (16_392, 65_536, [16_384, 61_440]),
            (65_536, 8216, [61_440, 8192]),
            (65_536, 10, [61_440, 0]),
            (0, 0, [0, 0]),
        ] {
            assert_eq!(windows(61_440, send, receive), expected, "{send} {receive}");
        }
    }
}
