//! One TCP connection with many calls in flight.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};

use sharebench_model::{OpError, TcpReading, WireCount};
use sharebench_stream_client::{Arrivals, GatherBuffer, SendQueue, connection_error, tcp_reading};
use tokio::net::TcpStream;

use crate::client::calls::{Calls, ExpectedReply};
use crate::client::receiver::Receiver;
use crate::client::replies::{Completion, ReplyContent};
use crate::protocol::{NFS_PROGRAM, NFS_VERSION, Procedure};
use crate::record::{begin_record, end_record};
use crate::rpc::{AuthSys, CallTemplate};
use crate::xdr::{Writer, padding};

/// Largest result of a metadata call.
pub(crate) const MAX_METADATA_BYTES: usize = 1 << 20;
/// What a reply can hold in addition to its payload or result.
const HEADER_ALLOWANCE: usize = 1024;

impl GatherBuffer for Writer {
    #[inline]
    fn as_slice(&self) -> &[u8] {
        Self::as_slice(self)
    }

    fn clear(&mut self) {
        Self::clear(self);
    }

    fn drop_front(&mut self, count: usize) {
        Self::drop_front(self, count);
    }
}

/// One TCP connection to an NFS server, and every call on it.
///
/// The channel owns the socket, the encoded calls that wait to be sent, the calls in flight and the counters of the
/// wire. The slots' buffers belong to the session and are lent for each poll. [`Self::call`] encodes and queues a call;
/// [`Self::poll`] sends, receives, and returns completions in the order in which replies arrive. It never spawns a task
/// and never waits on its own: whoever polls it drives both directions, so that an idle session costs nothing.
///
/// Life cycle: mounting performs its calls one at a time; from then on data operations use one index per slot, and one
/// more index serves metadata. The first error of the connection is final: the channel fails every call once, keeps the
/// error, and answers each later call with it ([`Self::failure`]). It does not reconnect and retransmit as a kernel
/// client does, because that would hide an outage in the response time of one operation.
///
/// Invariants: an index has at most one call; every call completes exactly once; a call is sent as one record; an xid
/// does not repeat before all generations are used.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: TcpStream,
    pub(crate) arrivals: Arrivals,
    send_queue: SendQueue<Writer>,
    receiver: Receiver,
    calls: Calls,
    /// The header that all calls share: program, version and credentials.
    template: CallTemplate,
    wire: WireCount,
    lost: Option<OpError>,
}

impl Channel {
    /// Takes a connected stream; `slots` of `slot_bytes` limit what can be in flight.
    pub(crate) fn new(
        stream: TcpStream,
        auth: Option<&AuthSys>,
        slots: usize,
        slot_bytes: usize,
        seed: u32,
    ) -> Self {
        let max_record = slot_bytes.max(MAX_METADATA_BYTES) + HEADER_ALLOWANCE;
        Self {
            stream,
            arrivals: Arrivals::default(),
            send_queue: SendQueue::default(),
            receiver: Receiver::new(slots, slot_bytes, max_record),
            calls: Calls::new(slots, seed),
            template: CallTemplate::new(NFS_PROGRAM, NFS_VERSION, auth),
            wire: WireCount::default(),
            lost: None,
        }
    }

    pub(crate) fn wire(&self) -> WireCount {
        self.wire
    }

    /// The connection's socket.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Requests arrival times of the kernel; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        self.arrivals.start(&self.stream)
    }

    /// The kernel's figures of the connection.
    pub(crate) fn tcp(&self) -> Option<TcpReading> {
        tcp_reading(&self.stream)
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// Returns the memory that only calls need. If a call is in flight, it does nothing and returns false.
    pub(crate) fn release_buffers(&mut self) -> bool {
        let idle = self.calls.in_flight() == 0 && self.send_queue.is_empty();
        if idle {
            self.send_queue = SendQueue::default();
            self.receiver.release_buffers();
        }
        idle
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.calls.is_idle(index)
    }

    pub(crate) fn metadata_index(&self) -> usize {
        self.calls.metadata_index()
    }

    /// Result of the last metadata call, status first.
    pub(crate) fn metadata_result(&self) -> &[u8] {
        &self.receiver.metadata_result
    }

    /// The error of a call on this connection, if the connection is lost.
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(connection_error::already_lost)
    }

    /// Marks the connection as lost; every call in flight fails with the first such error.
    #[cold]
    pub(crate) fn give_up(&mut self, error: OpError) {
        self.send_queue.clear();
        self.lost.get_or_insert(error);
    }

    /// Queues a call at an idle index; `payload` bytes of the slot's buffer follow the arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        index: usize,
        expected: ExpectedReply,
        procedure: Procedure,
        payload: u32,
        arguments: impl FnOnce(&mut Writer),
    ) {
        let payload = payload as usize;
        let xid = self.calls.start(index, expected);
        let template = &self.template;
        self.send_queue.gather(|writer, _| {
            let at = begin_record(writer);
            template.put(writer, xid, procedure as u32);
            arguments(writer);
            // The record's length includes the payload and its padding, which follow outside the gather buffer.
            end_record(writer, at, payload.next_multiple_of(4));
        });
        // The payload stays in its slot; only its padding is copied.
        if payload > 0 {
            self.send_queue.push_slot(index, payload);
            if padding(payload) > 0 {
                self.send_queue.gather(|writer, _| writer.pad(payload));
            }
        }
        // Counted when the call is queued: it cannot be taken back any more, and a lost connection fails it
        // with its count.
        self.wire.requests += 1;
        self.wire.payload_sent += payload as u64;
    }

    /// Sends what waits, then receives. It is ready when `completions` has an entry.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        completions: &mut Vec<Completion>,
    ) -> Poll<()> {
        if self.lost.is_none()
            && let Err(error) = self.send_and_receive(cx, buffers, completions)
        {
            self.give_up(error);
        }
        for completion in completions.iter() {
            if let Ok(ReplyContent::Read(count)) = completion.result {
                self.wire.payload_received += u64::from(count);
            }
        }
        if self.lost.is_some() {
            self.fail_all(completions);
        }
        if completions.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn send_and_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        completions: &mut Vec<Completion>,
    ) -> Result<(), OpError> {
        let sent = &mut self.wire.sent;
        if !self.send_queue.is_empty()
            && let Poll::Ready(Err(error)) = self.send_queue.poll_send(&mut self.stream, cx, &*buffers, sent)
        {
            return Err(connection_error::disconnected(error.to_string()));
        }
        // Nothing is awaited, so nothing is read: an idle session is not woken by its socket.
        if self.calls.in_flight() == 0 {
            return Ok(());
        }
        let received = &mut self.wire.received;
        match self.receiver.poll_receive(
            &mut self.arrivals.of(&mut self.stream),
            cx,
            &mut self.calls,
            buffers,
            completions,
            received,
        ) {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    #[cold]
    fn fail_all(&mut self, completions: &mut Vec<Completion>) {
        let Some(error) = self.lost.clone() else { return };
        for index in 0..=self.calls.metadata_index() {
            if let Some(expected) = self.calls.finish(index) {
                completions.push(Completion { index, expected, result: Err(error.clone()) });
            }
        }
    }
}
