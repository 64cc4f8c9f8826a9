//! One TCP connection with many calls in flight.

use std::net::SocketAddr;
use std::task::{Context, Poll};

use sharebench_model::{ErrorClass, OpError, WireCount};
use tokio::net::TcpStream;

use crate::client::arrival::{Answer, Arrival};
use crate::client::calls::{Calls, Expected};
use crate::client::receiver::{Receiver, lost};
use crate::client::sender::Sender;
use crate::protocol::{NFS_PROGRAM, NFS_VERSION, Procedure};
use crate::record::{begin_record, end_record};
use crate::rpc::{AuthSys, CallTemplate};
use crate::xdr::Writer;

/// Largest result of a call for names and attributes.
pub(crate) const MAX_META_BYTES: usize = 1 << 20;

/// Largest buffer for bursts of small replies: more would leave the processor's nearest caches between
/// the two copies.
const MAX_BURST_BYTES: usize = 64 << 10;

/// A connection, what waits to be sent on it, what is awaited, and what was counted.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: TcpStream,
    sender: Sender,
    receiver: Receiver,
    calls: Calls,
    template: CallTemplate,
    wire: WireCount,
    lost: Option<OpError>,
}

impl Channel {
    /// Takes a connected stream; `slots` of `slot_bytes` bound what can be in flight.
    pub(crate) fn new(
        stream: TcpStream,
        auth: Option<&AuthSys>,
        slots: usize,
        slot_bytes: usize,
        seed: u32,
    ) -> Self {
        let burst = (slots * (slot_bytes.min(8 << 10) + 256)).min(MAX_BURST_BYTES);
        Self {
            stream,
            sender: Sender::default(),
            receiver: Receiver::new(burst, slot_bytes.max(MAX_META_BYTES) + 1024),
            calls: Calls::new(slots, seed),
            template: CallTemplate::new(NFS_PROGRAM, NFS_VERSION, auth),
            wire: WireCount::default(),
            lost: None,
        }
    }

    pub(crate) fn wire(&self) -> WireCount {
        self.wire
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// Gives buffers back, unless something is in flight: false then.
    pub(crate) fn release_buffers(&mut self) -> bool {
        let idle = self.calls.in_flight() == 0 && self.sender.is_empty();
        if idle {
            self.sender = Sender::default();
            self.receiver.release_buffers();
        }
        idle
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.calls.is_idle(index)
    }

    pub(crate) fn meta_index(&self) -> usize {
        self.calls.meta()
    }

    /// Result of the last call for names and attributes, status first.
    pub(crate) fn meta_result(&self) -> &[u8] {
        &self.receiver.meta_result
    }

    /// Why the connection is lost, if it is.
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(|error| lost(ErrorClass::Disconnected, error.detail.clone()))
    }

    /// Gives the connection up; every call in flight fails.
    #[cold]
    pub(crate) fn give_up(&mut self, error: OpError) {
        self.sender.clear();
        self.lost.get_or_insert(error);
    }

    /// Queues a call; `payload` bytes of the slot's buffer follow the arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        index: usize,
        expected: Expected,
        procedure: Procedure,
        payload: u32,
        arguments: impl FnOnce(&mut Writer),
    ) {
        let xid = self.calls.begin(index, expected);
        let template = &self.template;
        self.sender.push(index, payload as usize, |writer| {
            let at = begin_record(writer);
            template.put(writer, xid, procedure as u32);
            arguments(writer);
            end_record(writer, at, (payload as usize).next_multiple_of(4));
        });
        self.wire.requests += 1;
        self.wire.payload_sent += u64::from(payload);
    }

    /// Sends what waits, then receives: ready when `arrivals` holds something.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> Poll<()> {
        if self.lost.is_none()
            && let Err(error) = self.send_and_receive(cx, buffers, arrivals)
        {
            self.give_up(error);
        }
        for arrival in arrivals.iter() {
            if let Ok(Answer::Read(count)) = arrival.result {
                self.wire.payload_received += u64::from(count);
            }
        }
        if self.lost.is_some() {
            self.fail_all(arrivals);
        }
        if arrivals.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn send_and_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> Result<(), OpError> {
        if !self.sender.is_empty()
            && let Poll::Ready(Err(error)) =
                self.sender.poll_send(&mut self.stream, cx, buffers, &mut self.wire.sent)
        {
            return Err(lost(ErrorClass::Disconnected, error.to_string()));
        }
        if self.calls.in_flight() == 0 {
            return Ok(());
        }
        let received = &mut self.wire.received;
        match self.receiver.poll_receive(&mut self.stream, cx, &mut self.calls, buffers, arrivals, received) {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    #[cold]
    fn fail_all(&mut self, arrivals: &mut Vec<Arrival>) {
        let Some(error) = self.lost.clone() else { return };
        for index in 0..=self.calls.meta() {
            if let Some(expected) = self.calls.end(index) {
                arrivals.push(Arrival { index, expected, result: Err(error.clone()) });
            }
        }
    }
}
