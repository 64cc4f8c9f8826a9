//! One TCP connection with many requests in flight.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use sharebench_model::{ErrorClass, OpError, PolicyCount, WireCount};
use tokio::net::TcpStream;

use crate::client::arrival::{Arrival, Ledger};
use crate::client::buffers::Buffers;
use crate::client::calls::{Calls, Order, Sent};
use crate::client::credits::Credits;
use crate::client::exchange::Exchange;
use crate::client::guard::Guard;
use crate::client::outbox::Outbox;
use crate::client::receiver::{Receiver, lost};
use crate::wire::data::{READ_DATA_OFFSET, WRITE_DATA_OFFSET};
use crate::wire::data::{ReadRequest, WriteRequest};
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::{Header, command, flags};
use crate::wire::simple::FlushRequest;
use crate::wire::transform;

/// Largest buffer for bursts of small replies: more would leave the processor's nearest caches between
/// the two copies.
const MAX_BURST_BYTES: usize = 64 << 10;
/// What a message can hold beside the payload of a slot.
const FRAME_ALLOWANCE: usize = 64 << 10;
/// Most credits to strive for, as servers grant them.
const MAX_CREDITS: u32 = 8192;

/// A connection, what waits to be sent on it, what is awaited, and what was counted.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: TcpStream,
    outbox: Outbox,
    receiver: Receiver,
    calls: Calls,
    /// Requests that were not sent, by index, in order.
    waiting: VecDeque<usize>,
    pub(crate) credits: Credits,
    pub(crate) guard: Guard,
    pub(crate) buffers: Buffers,
    pub(crate) exchange: Exchange,
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    scratch: Vec<u8>,
    wire: WireCount,
    policy: PolicyCount,
    lost: Option<OpError>,
}

impl Channel {
    /// Takes a connected stream; `slots` of `slot_bytes` bound what can be in flight.
    pub(crate) fn new(stream: TcpStream, slots: usize, slot_bytes: usize) -> Self {
        let burst = (slots * (slot_bytes.min(8 << 10) + 256)).min(MAX_BURST_BYTES);
        let per_slot = slot_bytes.div_ceil(64 << 10).max(1);
        let credits = u32::try_from(slots * per_slot + 2).unwrap_or(MAX_CREDITS).min(MAX_CREDITS);
        Self {
            stream,
            outbox: Outbox::default(),
            receiver: Receiver::new(burst, slot_bytes.max(FRAME_ALLOWANCE) + FRAME_ALLOWANCE),
            calls: Calls::new(slots),
            waiting: VecDeque::with_capacity(slots + 1),
            credits: Credits::new(credits),
            guard: Guard::default(),
            buffers: Buffers::new(slots, slot_bytes),
            exchange: Exchange::default(),
            session_id: 0,
            tree_id: 0,
            scratch: Vec::new(),
            wire: WireCount::default(),
            policy: PolicyCount::default(),
            lost: None,
        }
    }

    pub(crate) fn wire(&self) -> WireCount {
        self.wire
    }

    pub(crate) fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    /// Gives memory back that only requests need, unless one is in flight.
    pub(crate) fn release_buffers(&mut self) {
        if self.calls.in_flight() == 0 && self.waiting.is_empty() && self.outbox.is_empty() {
            self.outbox = Outbox::default();
            self.receiver.release_buffers();
            self.buffers.release_buffers();
            self.exchange.release_buffers();
        }
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.calls.is_idle(index)
    }

    pub(crate) fn meta_index(&self) -> usize {
        self.calls.meta()
    }

    /// Why the connection is lost, if it is.
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(|error| lost(ErrorClass::Disconnected, error.detail.clone()))
    }

    /// Gives the connection up; every request in flight fails.
    #[cold]
    pub(crate) fn give_up(&mut self, error: OpError) {
        self.outbox.clear();
        self.lost.get_or_insert(error);
    }

    /// Queues a request.
    #[inline]
    pub(crate) fn submit(&mut self, index: usize, order: Order) {
        self.calls.wait(index, order);
        self.waiting.push_back(index);
    }

    /// Sends what credits allow, then receives: ready when `arrivals` holds something.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, arrivals: &mut Vec<Arrival>) -> Poll<()> {
        while self.lost.is_none() && arrivals.is_empty() {
            match self.send_and_receive(cx, arrivals) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.give_up(error),
            }
        }
        for arrival in arrivals.iter() {
            if let (Order::Read { .. }, Ok(count)) = (arrival.order, &arrival.result) {
                self.wire.payload_received += u64::from(*count);
            }
        }
        if self.lost.is_some() {
            self.fail_all(arrivals);
        }
        if arrivals.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    /// True when something has moved that may allow more.
    fn send_and_receive(
        &mut self,
        cx: &mut Context<'_>,
        arrivals: &mut Vec<Arrival>,
    ) -> Result<bool, OpError> {
        loop {
            self.dispatch();
            if self.outbox.is_empty() {
                break;
            }
            let sent = &mut self.wire.sent;
            match self.outbox.poll_send(&mut self.stream, cx, &self.buffers, sent) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Err(lost(ErrorClass::Disconnected, error.to_string())),
                Poll::Pending => break,
            }
        }
        if self.calls.in_flight() == 0 {
            self.refuse_unaffordable(arrivals);
            return Ok(false);
        }
        let mut ledger = Ledger {
            calls: &mut self.calls,
            buffers: &mut self.buffers,
            credits: &mut self.credits,
            guard: &self.guard,
            meta_reply: &mut self.exchange.reply,
            arrivals,
        };
        match self.receiver.poll_receive(&mut self.stream, cx, &mut ledger, &mut self.wire.received) {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Pending => Ok(false),
        }
    }

    /// Moves waiting requests into the outbox while credits last.
    fn dispatch(&mut self) {
        while let Some(&index) = self.waiting.front() {
            let Some(order) = self.calls.waiting(index) else {
                self.waiting.pop_front();
                continue;
            };
            let charge = self.credits.charge(order.payload());
            if self.outbox.is_full() {
                return;
            }
            let Some(message_id) = self.credits.pay(charge) else { return };
            self.waiting.pop_front();
            self.send(index, order, charge, message_id);
        }
    }

    #[inline]
    fn send(&mut self, index: usize, order: Order, charge: u16, message_id: u64) {
        let always = matches!(order, Order::Meta { .. }) && self.exchange.always_sign;
        let signed = self.guard.signs(always);
        let header = Header {
            credit_charge: if self.credits.by_size { charge } else { 0 },
            command: order.command(),
            credits: self.credits.wish(charge),
            flags: if signed { flags::SIGNED } else { 0 },
            message_id,
            tree_id: self.tree_id,
            session_id: self.session_id,
            ..Header::default()
        };
        match order {
            Order::Write { len, .. } if self.guard.seal.is_none() => {
                self.send_from_slot(index, &header, order, len as usize);
            }
            _ => self.send_gathered(index, &header, order),
        }
        if let Order::Write { len, .. } = order {
            self.wire.payload_sent += u64::from(len);
        }
        self.policy += order.policy_count();
        self.wire.requests += 1;
        self.calls.sent(index, message_id, Sent { order, charge, signed });
    }

    /// Puts a WRITE's header in front of its payload, so that both leave from where they are.
    fn send_from_slot(&mut self, index: usize, header: &Header, order: Order, len: usize) {
        self.scratch.clear();
        header.encode(&mut self.scratch);
        encode_data(order, &mut self.scratch);
        let message = self.buffers.write_message(index, len);
        message[..WRITE_DATA_OFFSET].copy_from_slice(&self.scratch);
        if header.is(flags::SIGNED) {
            self.guard.sign(message);
        }
        self.buffers.put_prefix(index, frame::prefix(WRITE_DATA_OFFSET + len).unwrap_or_default());
        self.outbox.push_slot(index, len);
    }

    fn send_gathered(&mut self, index: usize, header: &Header, order: Order) {
        let Self { outbox, guard, exchange, buffers, .. } = self;
        outbox.gather(|bytes, start| {
            let front = if guard.seal.is_some() { transform::LEN } else { 0 };
            let at = start + PREFIX_LEN + front;
            bytes.resize(at, 0);
            header.encode(bytes);
            match order {
                Order::Meta { .. } => bytes.extend_from_slice(&exchange.body),
                Order::Write { len, .. } => {
                    encode_data(order, bytes);
                    bytes.extend_from_slice(buffers.place(index, len as usize).unwrap_or_default());
                }
                _ => encode_data(order, bytes),
            }
            if header.is(flags::SIGNED) {
                guard.sign(&mut bytes[at..]);
            }
            if matches!(order, Order::Meta { .. }) {
                exchange.sent(&bytes[at..]);
            }
            if let Some(seal) = &guard.seal {
                seal.close(&mut bytes[start + PREFIX_LEN..]);
            }
            let prefix = frame::prefix(bytes.len() - start - PREFIX_LEN).unwrap_or_default();
            bytes[start..start + PREFIX_LEN].copy_from_slice(&prefix);
        });
    }

    /// Fails what waits for credits that nothing in flight can bring.
    #[cold]
    fn refuse_unaffordable(&mut self, arrivals: &mut Vec<Arrival>) {
        if !self.outbox.is_empty() {
            return;
        }
        let Some(index) = self.waiting.pop_front() else { return };
        let Some((order, requests)) = self.calls.end(index) else { return };
        let (costs, has) = (self.credits.charge(order.payload()), self.credits.available());
        let detail = format!("the request costs {costs} credits, the server grants {has}");
        let result = Err(OpError::new(ErrorClass::Unsupported, command::name(order.command()), detail));
        arrivals.push(Arrival { index, order, result, requests });
    }

    #[cold]
    fn fail_all(&mut self, arrivals: &mut Vec<Arrival>) {
        let Some(error) = self.lost.clone() else { return };
        self.waiting.clear();
        for index in 0..=self.calls.meta() {
            if let Some((order, requests)) = self.calls.end(index) {
                arrivals.push(Arrival { index, order, result: Err(error.clone()), requests });
            }
        }
    }
}

/// Appends the body of a data operation, a WRITE's without its payload.
#[inline]
fn encode_data(order: Order, out: &mut Vec<u8>) {
    match order {
        Order::Read { file, offset, len, flags } => {
            let padding = READ_DATA_OFFSET as u8;
            ReadRequest { padding, flags, len, offset, file: file.id, ..ReadRequest::default() }.encode(out);
        }
        Order::Write { file, offset, len, flags } => {
            let data_offset = WRITE_DATA_OFFSET as u16;
            let file = file.id;
            WriteRequest { data_offset, len, offset, file, flags, ..WriteRequest::default() }.encode(out);
        }
        Order::Flush { file } => FlushRequest { file, ..FlushRequest::default() }.encode(out),
        Order::Meta { .. } => {}
    }
}
