//! The connections of a session with many calls in flight.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use sharebench_client_core::{GatherBuffer, connection_error, tcp_reading};
use sharebench_gss::ProtectionError;
use sharebench_model::{Fact, OpError, TargetFacts, TcpReading, WireCount};
use tokio::net::TcpStream;

use crate::client::options::Route;
use crate::client::rpc::calls::{Calls, ExpectedReply};
use crate::client::rpc::connection::Connection;
use crate::client::rpc::datagrams::DatagramCounts;
use crate::client::rpc::dialect::{Dialect, Places, Verdict};
use crate::client::rpc::link::Link;
use crate::client::rpc::protected_call::{CallHead, ProtectedCall};
use crate::client::rpc::receiver::Receiver;
use crate::client::rpc::replies::{Completion, ReplyContent};
use crate::client::rpc::security::ClientSecurity;
use crate::protocol::NFS_PROGRAM;
use crate::record::{begin_record, end_record};
use crate::rpc::{AuthSys, CallTemplate};
use crate::xdr::Writer;

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

/// What happens to the calls of the last connection when that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLoss {
    /// They fail, and so does every later call.
    FailsCalls,
    /// They wait until the session has connected again ([`Channel::attach`]) or gives up ([`Channel::give_up`]).
    HoldsCalls,
}

/// A protected call that waits for a sequence number within the window of the server.
#[derive(Debug)]
struct HeldCall {
    index: usize,
    head: CallHead,
    /// With the payload, as a call without protection has them.
    arguments: Writer,
}

/// One or several connections to an NFS server, and every call on them.
///
/// The channel owns the sockets, the encoded calls that wait to be sent, the calls in flight and the counters of the
/// wire. The slots' buffers belong to the session and are lent for each poll. [`Self::call`] encodes a call and queues it
/// on the connection with the fewest calls in flight; [`Self::poll`] sends, receives, and returns completions in the
/// order in which replies arrive. It never spawns a task and never waits on its own: whoever polls it drives all
/// directions, so that an idle session costs nothing.
///
/// Life cycle: mounting performs its calls one at a time; from then on data operations use one index per slot, and one
/// more index serves metadata. If one of several connections is lost, its calls become orphans
/// ([`Self::take_orphan`]), which the session encodes again for another connection, under the same xid. The loss of the
/// last connection is final for a protocol without sessions: the channel fails every call once, keeps the error, and
/// answers each later call with it ([`Self::failure`]). It does not reconnect and retransmit as a kernel client does,
/// because nothing there prevents that the server performs a call twice.
///
/// With Kerberos, a call whose sequence number would be further ahead of an unanswered call than the server's window waits for
/// replies, because the server drops calls that were overtaken by more than that, and does not answer them.
///
/// Invariants: an index has at most one call; every call completes exactly once; a call is sent as one record; an xid
/// does not repeat before all generations are used.
#[derive(Debug)]
pub(crate) struct Channel<D> {
    connections: Vec<Connection>,
    calls: Calls,
    /// The connection of each call in flight, by index.
    carriers: Vec<usize>,
    /// Calls whose connection is lost.
    orphans: Vec<usize>,
    /// Calls that would be further ahead of an unanswered call than the server's window, in the order in which they are sent.
    held: VecDeque<HeldCall>,
    /// The header that all calls share: program, version and credentials.
    template: CallTemplate,
    wire: WireCount,
    last_loss: LastLoss,
    /// Why the last connection was lost, until another one is attached.
    severed: Option<OpError>,
    lost: Option<OpError>,
    /// Number of connections that were lost.
    losses: u32,
    /// Result of the last metadata call at each index, status first.
    metadata_results: Vec<Vec<u8>>,
    /// Receives calls of the server while no call is in flight.
    pub(crate) listens: bool,
    slots: usize,
    slot_bytes: usize,
    dialect: PhantomData<D>,
}

impl<D: Dialect> Channel<D> {
    /// Takes a connected link; `slots` of `slot_bytes` limit what can be in flight.
    pub(crate) fn new(
        link: Link,
        auth: Option<&AuthSys>,
        slots: usize,
        slot_bytes: usize,
        seed: u32,
    ) -> Self {
        let mut channel = Self {
            connections: Vec::with_capacity(1),
            calls: Calls::new(slots, seed),
            carriers: vec![0; slots + 1],
            orphans: Vec::with_capacity(slots + 1),
            held: VecDeque::new(),
            template: CallTemplate::new(NFS_PROGRAM, D::VERSION, auth),
            wire: WireCount::default(),
            last_loss: LastLoss::FailsCalls,
            severed: None,
            lost: None,
            losses: 0,
            metadata_results: vec![Vec::new(); slots + 1],
            listens: false,
            slots,
            slot_bytes,
            dialect: PhantomData,
        };
        channel.attach(link);
        channel
    }

    /// Adds a connection. Calls that wait for one become orphans of the lost connection.
    pub(crate) fn attach(&mut self, link: Link) {
        let max_record = self.slot_bytes.max(MAX_METADATA_BYTES) + HEADER_ALLOWANCE;
        let receiver = Receiver::new(self.slots, self.slot_bytes, max_record);
        self.connections.push(Connection::new(link, receiver));
        self.severed = None;
    }

    /// Determines what happens when the last connection is lost.
    pub(crate) fn on_last_loss(&mut self, last_loss: LastLoss) {
        self.last_loss = last_loss;
    }

    /// Why the last connection was lost, while calls wait for another one.
    pub(crate) fn severed(&self) -> Option<&OpError> {
        self.severed.as_ref().filter(|_| self.lost.is_none())
    }

    /// Number of connections that were lost.
    pub(crate) fn losses(&self) -> u32 {
        self.losses
    }

    /// What crossed the wire over UDP; none over TCP.
    pub(crate) fn datagrams(&self) -> Option<DatagramCounts> {
        match &self.connections.first()?.link {
            Link::Stream(_) => None,
            Link::Datagrams(datagrams) => Some(datagrams.counts()),
        }
    }

    /// How many times the call at `index` was sent again over UDP, since the last time.
    #[inline]
    pub(crate) fn take_resent(&mut self, index: usize) -> u32 {
        self.calls.take_resent(index)
    }

    /// Number of connections that are left.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn wire(&self) -> WireCount {
        self.wire
    }

    /// The socket of the first connection.
    pub(crate) fn socket(&self) -> Option<&TcpStream> {
        self.connections.first()?.link.tcp()
    }

    /// Requests arrival times of the kernel for all connections; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        self.connections.iter_mut().all(Connection::time_arrivals)
    }

    /// When the last data of any connection arrived, nanoseconds since 1970.
    pub(crate) fn last_arrival_ns(&self) -> Option<u64> {
        self.connections.iter().filter_map(Connection::last_arrival_ns).max()
    }

    /// Adds what was sent and received on a connection before it was attached.
    pub(crate) fn add_wire(&mut self, count: WireCount) {
        self.wire += count;
    }

    /// Counts operations of COMPOUNDs.
    #[inline]
    pub(crate) fn count_operations(&mut self, operations: u32) {
        self.wire.operations += u64::from(operations);
    }

    /// The kernel's figures of all connections as one.
    pub(crate) fn tcp(&self) -> Option<TcpReading> {
        let readings = self.connections.iter().map(|connection| tcp_reading(connection.link.tcp()?));
        readings.reduce(|sum, next| Some(sum?.and(next?)))?
    }

    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.connections.first()?.link.local_addr()
    }

    /// True if TLS protects the connections.
    pub(crate) fn has_tls(&self) -> bool {
        self.connections.first().is_some_and(|connection| connection.link.tls().is_some())
    }

    /// Adds the facts of connections that TLS protects.
    pub(crate) fn add_tls_facts(&self, route: &Route, facts: &mut TargetFacts) {
        let tls = self.connections.first().and_then(|connection| connection.link.tls());
        if let (Some(requested), Some(tls)) = (&route.tls, tls) {
            facts.state(Fact::Xprtsec, requested.requested.name());
            facts.state(Fact::TlsCipher, tls.cipher());
            facts.state(Fact::TlsProtocol, tls.protocol().unwrap_or_else(|| "none".to_owned()));
        }
    }

    /// Returns the memory that only calls need. If a call is in flight, it does nothing and returns false.
    pub(crate) fn release_buffers(&mut self) -> bool {
        let idle = self.calls.in_flight() == 0 && self.connections.iter().all(Connection::is_idle);
        if idle {
            self.connections.iter_mut().for_each(Connection::release_buffers);
            self.metadata_results.iter_mut().for_each(|result| *result = Vec::new());
        }
        idle
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.calls.is_idle(index)
    }

    pub(crate) fn metadata_index(&self) -> usize {
        self.calls.metadata_index()
    }

    /// Result of the last metadata call at `index`, status first.
    pub(crate) fn metadata_result(&self, index: usize) -> &[u8] {
        self.metadata_results.get(index).map_or(&[], Vec::as_slice)
    }

    /// The error of a call on this channel, if its last connection is lost.
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(connection_error::already_lost)
    }

    /// Marks the channel as lost; every call in flight fails with the first such error.
    #[cold]
    pub(crate) fn give_up(&mut self, error: OpError) {
        self.connections.clear();
        self.lost.get_or_insert(error);
    }

    /// Queues a call at an idle index; `payload`, from the beginning of the slot's buffer, follows the arguments.
    #[inline]
    pub(crate) fn call(
        &mut self,
        index: usize,
        expected: ExpectedReply,
        procedure: u32,
        payload: &[u8],
        arguments: impl FnOnce(&mut Writer),
    ) {
        let xid = self.calls.start(index, expected);
        self.queue(index, xid, procedure, payload, arguments);
    }

    /// Signs or encrypts all calls from now on.
    pub(crate) fn secure(&mut self, security: ClientSecurity) {
        self.calls.protect(security);
    }

    /// Number of security contexts; none without security.
    pub(crate) fn contexts(&mut self) -> usize {
        self.calls.security().map_or(0, |security| security.contexts())
    }

    /// The protection of a call on a connection that is not attached yet; none without security.
    pub(crate) fn reserve(&mut self) -> Option<ProtectedCall> {
        self.calls.security()?.reserve()
    }

    /// Queues the end of a security context, with NULL.
    pub(crate) fn destroy_context(&mut self, context: usize) {
        let index = self.calls.metadata_index();
        let xid = self.calls.start(index, ExpectedReply::Metadata);
        let head = CallHead { xid, program: NFS_PROGRAM, version: D::VERSION, procedure: 0 };
        self.wire.requests += 1;
        self.queue_protected(index, |security, writer| security.put_destroy(writer, index, head, context));
    }

    /// A call of the session whose connection is lost. The session has to pass it to [`Self::call_again`], with the same arguments.
    /// Metadata calls are not among them: whoever waits for one sends it again ([`Self::is_orphan`]).
    pub(crate) fn take_orphan(&mut self) -> Option<usize> {
        if self.orphans.is_empty() || self.connections.is_empty() {
            return None;
        }
        let of_session = |index: &usize| self.calls.expected(*index) != Some(ExpectedReply::Metadata);
        let place = self.orphans.iter().rposition(of_session)?;
        Some(self.orphans.swap_remove(place))
    }

    /// True if the call at `index` waits for [`Self::call_again`], and there is a connection for it.
    pub(crate) fn is_orphan(&self, index: usize) -> bool {
        !self.orphans.is_empty() && !self.connections.is_empty() && self.orphans.contains(&index)
    }

    /// Queues a call in flight again, under its xid. Rare, so that one copy serves all calls.
    #[cold]
    pub(crate) fn call_again(
        &mut self,
        index: usize,
        procedure: u32,
        payload: &[u8],
        arguments: &dyn Fn(&mut Writer),
    ) {
        self.orphans.retain(|orphan| *orphan != index);
        if let Some(xid) = self.calls.xid(index) {
            self.queue(index, xid, procedure, payload, arguments);
        }
    }

    #[inline]
    fn queue(
        &mut self,
        index: usize,
        xid: u32,
        procedure: u32,
        payload: &[u8],
        arguments: impl FnOnce(&mut Writer),
    ) {
        // Counted when the call is queued: it cannot be taken back any more, and a lost connection fails it
        // with its count.
        self.wire.requests += 1;
        self.wire.payload_sent += payload.len() as u64;
        if self.calls.are_protected() {
            let head = CallHead { xid, program: NFS_PROGRAM, version: D::VERSION, procedure };
            // The payload is copied, because it is signed or encrypted with the arguments.
            return self.queue_in_window(index, head, |writer| {
                arguments(writer);
                writer.raw(payload);
                writer.pad(payload.len());
            });
        }
        let Some(carrier) = self.assign(index) else { return };
        let template = &self.template;
        self.connections[carrier].queue(index, payload.len(), |writer| {
            let at = begin_record(writer);
            template.put(writer, xid, procedure);
            arguments(writer);
            // The record's length includes the payload and its padding, which follow outside the gather buffer.
            end_record(writer, at, payload.len().next_multiple_of(4));
        });
    }

    /// Queues a protected call, or holds it until replies have moved the window of the server.
    fn queue_in_window(&mut self, index: usize, head: CallHead, arguments: impl FnOnce(&mut Writer)) {
        let has_number = self.calls.security().is_none_or(|security| security.has_number());
        if has_number && self.held.is_empty() {
            return self.queue_call(index, head, arguments);
        }
        let mut encoded = Writer::default();
        arguments(&mut encoded);
        self.held.push_back(HeldCall { index, head, arguments: encoded });
    }

    fn queue_call(&mut self, index: usize, head: CallHead, arguments: impl FnOnce(&mut Writer)) {
        self.queue_protected(index, |security, writer| security.put_call(writer, index, head, arguments));
    }

    /// Queues the calls that are within the window now; true if there were any.
    fn release_held(&mut self) -> bool {
        let mut released = false;
        while !self.connections.is_empty()
            && let Some(security) = self.calls.security()
            && security.has_number()
            && let Some(HeldCall { index, head, arguments }) = self.held.pop_front()
        {
            self.queue_call(index, head, |writer| writer.raw(arguments.as_slice()));
            released = true;
        }
        released
    }

    /// Queues a record that `put` encodes.
    fn queue_protected(
        &mut self,
        index: usize,
        put: impl FnOnce(&mut ClientSecurity, &mut Writer) -> Result<(), ProtectionError>,
    ) {
        let Some(carrier) = self.assign(index) else { return };
        let Some(security) = self.calls.security() else { return };
        let mut done = Ok(());
        self.connections[carrier].queue(index, 0, |writer| {
            let at = begin_record(writer);
            done = put(security, writer);
            end_record(writer, at, 0);
        });
        if let Err(error) = done {
            self.give_up(connection_error::protocol_violation(error));
        }
    }

    /// Assigns a call to the connection with the fewest calls in flight; none if all connections are lost and the session
    /// will attach another one.
    #[inline]
    fn assign(&mut self, index: usize) -> Option<usize> {
        let carrier = self.least_loaded();
        let Some(connection) = self.connections.get_mut(carrier) else {
            self.orphans.push(index);
            return None;
        };
        connection.in_flight += 1;
        self.carriers[index] = carrier;
        Some(carrier)
    }

    #[inline]
    fn least_loaded(&self) -> usize {
        if self.connections.len() < 2 {
            return 0;
        }
        let loads = self.connections.iter().map(|connection| connection.in_flight).enumerate();
        loads.min_by_key(|(_, in_flight)| *in_flight).map_or(0, |(carrier, _)| carrier)
    }

    /// Sends what waits, then receives. It is ready when `completions` has an entry.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        completions: &mut Vec<Completion>,
    ) -> Poll<()> {
        loop {
            self.poll_connections(cx, buffers, completions);
            // What is within the window by these replies is sent at once.
            if self.held.is_empty() || !self.release_held() {
                break;
            }
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

    #[inline]
    fn poll_connections(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        completions: &mut Vec<Completion>,
    ) {
        let mut at = 0;
        while let Some(connection) = self.connections.get_mut(at) {
            let before = completions.len();
            let places = &mut Places { buffers: &mut *buffers, metadata_results: &mut self.metadata_results };
            let polled =
                connection.poll::<D>(cx, &mut self.calls, places, completions, &mut self.wire, self.listens);
            connection.in_flight = connection.in_flight.saturating_sub(completions.len() - before);
            match polled {
                Ok(()) => at += 1,
                Err(error) => self.lose(at, error),
            }
        }
    }

    /// Removes a connection. Its calls become orphans, or fail with the last connection.
    #[cold]
    fn lose(&mut self, at: usize, error: OpError) {
        self.connections.remove(at);
        self.losses += 1;
        for index in 0..=self.calls.metadata_index() {
            match self.carriers[index].cmp(&at) {
                std::cmp::Ordering::Greater => self.carriers[index] -= 1,
                std::cmp::Ordering::Equal if self.is_carried(index) => {
                    if let Some(security) = self.calls.security() {
                        // No call has to wait for its number any longer: it is sent again with another one.
                        security.forget_call(index);
                    }
                    self.orphans.push(index);
                }
                _ => {}
            }
        }
        if self.connections.is_empty() {
            match self.last_loss {
                LastLoss::FailsCalls => self.give_up(error),
                LastLoss::HoldsCalls => self.severed = Some(error),
            }
        }
    }

    /// True if the call at `index` is in flight on a connection.
    fn is_carried(&self, index: usize) -> bool {
        let waits = self.orphans.contains(&index) || self.held.iter().any(|held| held.index == index);
        !self.calls.is_idle(index) && !waits
    }

    /// Calls of the server that wait for an answer, with the number of their connection.
    pub(crate) fn take_callback(&mut self) -> Option<(usize, Vec<u8>)> {
        let waiting = |(at, connection): (usize, &mut Connection)| {
            connection.receiver.callbacks.pop().map(|record| (at, record))
        };
        self.connections.iter_mut().enumerate().find_map(waiting)
    }

    /// Queues the answer to a call of the server: a reply without fragment header.
    pub(crate) fn answer_callback(&mut self, at: usize, encode: impl FnOnce(&mut Writer)) {
        if let Some(connection) = self.connections.get_mut(at) {
            connection.queue(0, 0, |writer| {
                let at = begin_record(writer);
                encode(writer);
                end_record(writer, at, 0);
            });
        }
    }

    #[cold]
    fn fail_all(&mut self, completions: &mut Vec<Completion>) {
        let Some(error) = self.lost.clone() else { return };
        self.orphans.clear();
        self.held.clear();
        for index in 0..=self.calls.metadata_index() {
            if let Some(expected) = self.calls.finish(index) {
                let result = Err(error.clone());
                completions.push(Completion { index, expected, result, verdict: Verdict::default() });
            }
        }
    }
}
