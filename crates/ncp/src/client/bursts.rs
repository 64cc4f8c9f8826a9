//! Packet burst on the client side: a transfer larger than one packet is split into fragments, and lost fragments are
//! requested again (docs/protocols/ncp.md 4.4).

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::ClientError;
use super::exchange::{Client, MAX_PAUSE, wire};
use super::transport::Transport;
use crate::burst::{BurstConnection, Fragment, OutgoingBurst, Reassembly, fragment_len};
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

/// The burst connection of a client and the transfer in progress on it. It exists from a successful offer (function
/// 0x65) to the end of the NCP connection or the next login.
#[derive(Debug)]
pub(super) struct ClientBurst {
    connection: BurstConnection,
    window: usize,
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
        let limit = options.window + 24;
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
        let window = options.window.min(send.min(receive).saturating_sub(24)) as usize;
        let fragment_len = fragment_len(accepted.max_packet.min(packet), transport);
        let connection = BurstConnection {
            local_id: OWN,
            remote_id: accepted.id,
            fragment_len,
            gap: options.gap,
            sequence: 0,
        };
        self.burst = Some(ClientBurst { connection, window, next: 0, transfer: None, data: None });
        Ok(())
    }

    /// Data bytes of a burst; 0 without bursts.
    pub fn window(&self) -> usize {
        self.burst.as_ref().map_or(0, |burst| burst.window)
    }

    /// True when a transfer uses a burst: it is larger than a packet and an ordinary call, and within the 32-bit
    /// offsets of bursts.
    pub(super) fn suits_burst(&self, offset: u64, len: usize) -> bool {
        let near = offset.checked_add(len as u64).is_some_and(|end| u32::try_from(end).is_ok());
        let alone = |burst: &ClientBurst| burst.connection.fragment_len.min(usize::from(self.buffer));
        self.burst.as_ref().is_some_and(|burst| near && len > alone(burst))
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
        burst.transfer = Some(Transfer { out, expected, answer: None, queue, packet: Vec::new(), next: now });
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
            burst.transfer = None;
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
                        connection.put_control((0, number, number), missing, out)
                    }
                };
                put.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            }
            ready!(self.transport.poll_send(cx, &transfer.packet, self.wait.deadline))?;
            self.counts.sent += transfer.packet.len() as u64;
            transfer.packet.clear();
            transfer.queue.pop_front();
            let now = self.transport.now();
            transfer.next = now + connection.gap;
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
        transfer.queue.extend(match &transfer.answer {
            Some(answer) => Some(OutgoingPacket::MissingList(answer.holes())),
            // The last fragment makes the server list the others that it lacks.
            None => transfer.out.fragments(connection.fragment_len).pop().map(OutgoingPacket::Fragment),
        });
    }

    /// Handles a burst packet: the result of the transfer, or none if it continues.
    fn handle_burst_packet(&mut self) -> Option<Result<(), ClientError>> {
        let step = self.wait.step;
        if self.take_watchdog() {
            return None;
        }
        let packet = BurstPacket::decode(self.transport.message()).ok()?;
        let Some(ClientBurst { connection, transfer: Some(transfer), data, .. }) = &mut self.burst else {
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
        self.wait.again = self.transport.now() + self.wait.pause;
        if fields.flags & flag::SYSTEM != 0 {
            let again = transfer.out.missing_fragments(packet.missing(), connection.fragment_len);
            self.counts.resent += u64::from(!again.is_empty());
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
        if !answer.is_complete() {
            // A missing-fragment list that is still queued is not queued twice.
            if fields.flags & flag::END_OF_BURST != 0 && transfer.queue.is_empty() {
                self.counts.resent += 1;
                transfer.queue.push_back(OutgoingPacket::MissingList(answer.holes()));
            }
            return None;
        }
        let (done, found) = result_of(step, transfer.expected, answer.bytes());
        *data = found;
        Some(done)
    }
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
