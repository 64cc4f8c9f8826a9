//! One request at a time to one server, with retransmission and a deadline.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::bursts::ClientBurst;
use super::options::{Counts, Options};
use super::probing::ProbeResult;
use super::transport::Transport;
use super::{ClientError, ConnectionState, Received};
use crate::wire::TransportKind;
use crate::wire::packet::ConnectionStatus;
use crate::wire::watchdog::IpWatchdog;
use crate::wire::{Codec, Completion, Request, WireError};

/// Times that a "busy" packet may extend the deadline of a request.
const MAX_BUSY: u32 = 10;
/// The longest retransmission pause, as a multiple of the first.
pub(super) const MAX_PAUSE: u32 = 8;

/// A client of one server over one [`Transport`].
///
/// The client owns the transport, the protocol state of the connection ([`ConnectionState`]), the wait for the reply
/// in progress and, if both sides support it, the burst connection. [`Client::connect`] creates the connection and
/// negotiates; [`Client::login`] enables signatures and bursts; [`Client::disconnect`] ends the connection.
///
/// The protocol allows one outstanding request per connection, and so does the client: [`Self::begin`] builds a
/// request, [`Self::poll`] sends and retransmits it until its reply arrives or the deadline passes. The reply stays
/// in the transport's buffer until the next request, so that file data is not copied a second time. Every other call
/// is built from these two. They are polled rather than async so that a benchmark can drive many clients in one task
/// without an allocation per request.
///
/// After an error other than [`ClientError::Refused`] the sequence numbers of the two sides may differ, so the
/// connection must not be used again.
#[derive(Debug)]
pub struct Client<C> {
    pub(super) transport: C,
    pub(super) connection: ConnectionState,
    pub(super) options: Options,
    pub(super) buffer: u16,
    pub(super) signs: bool,
    pub(super) checks: bool,
    pub(super) probed: ProbeResult,
    pub(super) large: bool,
    pub(super) wait: PendingReply,
    /// Range of the reply's data within the transport's message.
    reply: Range<usize>,
    /// The burst connection, when both sides support packet burst.
    pub(super) burst: Option<ClientBurst>,
    /// The answer to a watchdog query; it is sent before anything else.
    watchdog_reply: Option<IpWatchdog>,
    pub(super) counts: Counts,
}

/// The reply that is awaited, with the timers for retransmission and for the deadline.
#[derive(Debug)]
pub(super) struct PendingReply {
    pub(super) step: &'static str,
    send: bool,
    pub(super) pause: Duration,
    pub(super) again: Duration,
    pub(super) deadline: Duration,
    last: Duration,
    bad_signature: bool,
}

/// The value, or none if the server refused the call with one of these codes.
pub(super) fn unless<T>(
    done: Result<T, ClientError>,
    codes: &[Completion],
) -> Result<Option<T>, ClientError> {
    match done {
        Err(ClientError::Refused { completion, .. }) if codes.contains(&completion) => Ok(None),
        done => done.map(Some),
    }
}

pub(super) fn wire(step: &'static str) -> impl Fn(WireError) -> ClientError {
    move |source| ClientError::Wire { step, source }
}

impl<C: Transport> Client<C> {
    pub(super) fn new(transport: C, options: Options) -> Self {
        let connection = ConnectionState::new(transport.kind());
        let wait = PendingReply {
            step: "nothing",
            send: false,
            pause: Duration::ZERO,
            again: Duration::ZERO,
            deadline: Duration::ZERO,
            last: Duration::ZERO,
            bad_signature: false,
        };
        Self {
            transport,
            connection,
            options,
            buffer: super::options::MIN_BUFFER,
            signs: false,
            checks: false,
            probed: ProbeResult::NotProbed,
            large: false,
            wait,
            reply: 0..0,
            burst: None,
            watchdog_reply: None,
            counts: Counts::default(),
        }
    }

    /// The transport.
    pub const fn transport(&self) -> &C {
        &self.transport
    }

    /// Frees the memory that only requests need, unless a request is in progress.
    pub fn release_buffers(&mut self) {
        self.connection.release_buffers();
    }

    /// The transport, mutably.
    pub const fn transport_mut(&mut self) -> &mut C {
        &mut self.transport
    }

    /// The counters of this client.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// True while a reply is outstanding. The protocol allows no second request until it has arrived.
    pub fn is_waiting(&self) -> bool {
        self.connection.is_waiting() || self.has_burst()
    }

    /// Builds a request; [`Self::poll`] sends it and waits for its reply. `step` names it in errors.
    pub fn begin(&mut self, step: &'static str, request: &Request<'_>) {
        self.discard_burst_data();
        self.connection.request(request);
        self.begin_wait(step);
    }

    /// Starts the timers of the request that was built last.
    pub(super) fn begin_wait(&mut self, step: &'static str) {
        let now = self.transport.now();
        let timeout = self.options.timeout;
        self.counts.requests += 1;
        self.wait = PendingReply {
            step,
            send: true,
            pause: self.options.retry,
            again: now + self.options.retry,
            deadline: now + timeout,
            last: now + timeout * (MAX_BUSY + 1),
            bad_signature: false,
        };
        // TCP retransmits by itself. A second copy of a request would only be a duplicate for the server.
        if self.transport.kind() == TransportKind::Tcp {
            self.wait.again = self.wait.last;
        }
    }

    /// Extends the deadline, because the server may take `by` longer for this request.
    pub(super) fn extend(&mut self, by: Duration) {
        self.wait.deadline += by;
        self.wait.last += by;
        // `again` follows `last`, so that TCP still never retransmits.
        if self.transport.kind() == TransportKind::Tcp {
            self.wait.again = self.wait.last;
        }
    }

    /// The data of the last reply.
    pub fn reply(&self) -> &[u8] {
        self.transport.message().get(self.reply.clone()).unwrap_or_default()
    }

    /// Sends the request and returns `Ready` when its reply has arrived or it has failed. An error other than
    /// [`ClientError::Refused`] ends the connection.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        if self.has_burst() {
            return self.poll_burst(cx);
        }
        let step = self.wait.step;
        let io = |source| Err(ClientError::Io { step, source });
        loop {
            if let Err(error) = ready!(self.poll_watchdog_reply(cx)) {
                return Poll::Ready(io(error));
            }
            if self.wait.send {
                // The same bytes as before: signing the request again would advance the chain
                // (docs/protocols/ncp.md 5.1).
                let message = self.connection.last_message();
                if let Err(error) = ready!(self.transport.poll_send(cx, message, self.wait.deadline)) {
                    return Poll::Ready(io(error));
                }
                self.counts.sent += message.len() as u64;
                self.wait.send = false;
            }
            // The socket waits until whichever timer fires first; which of them it was is decided below.
            let until = self.wait.again.min(self.wait.deadline);
            match ready!(self.transport.poll_receive(cx, until)) {
                Ok(true) => {
                    self.counts.received += self.transport.message().len() as u64;
                    if let Some(done) = self.handle_message() {
                        return Poll::Ready(done);
                    }
                }
                Ok(false) => {}
                Err(error) => return Poll::Ready(io(error)),
            }
            // Unrelated messages may arrive without end, so the deadline is checked after each of them.
            let now = self.transport.now();
            if now >= self.wait.deadline {
                let bad = self.wait.bad_signature;
                let late = io(io::ErrorKind::TimedOut.into());
                // A wrong signature explains the silence better than a timeout does: the genuine reply was
                // probably the one that was discarded.
                return Poll::Ready(if bad { Err(ClientError::BadSignature { step }) } else { late });
            }
            if now >= self.wait.again {
                // Doubling keeps a slow link from being filled with retransmissions; a pause that is too short
                // saturates it (docs/protocols/ncp.md 4.5).
                self.wait.pause = (self.wait.pause * 2).min(self.options.retry * MAX_PAUSE);
                self.wait.again = now + self.wait.pause;
                self.wait.send = true;
                self.counts.resent += 1;
            }
        }
    }

    /// Answers watchdog queries while the connection is idle. It discards other messages, which are late replies. TCP
    /// has no watchdog: a broken connection shows itself.
    pub fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        if self.is_waiting() || self.transport.kind() == TransportKind::Tcp {
            return;
        }
        // An error of the socket is not reported here: it occurs again at the next request.
        while let Poll::Ready(Ok(())) = self.poll_watchdog_reply(cx) {
            let until = self.transport.now() + self.options.timeout;
            let Poll::Ready(Ok(true)) = self.transport.poll_receive(cx, until) else { return };
            self.counts.received += self.transport.message().len() as u64;
            self.take_watchdog();
        }
    }

    /// Sends the answer to a watchdog query, if one is pending.
    pub(super) fn poll_watchdog_reply(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(alive) = self.watchdog_reply {
            let packet = alive.packet();
            ready!(self.transport.poll_send(cx, &packet, self.wait.deadline))?;
            self.counts.sent += packet.len() as u64;
            self.watchdog_reply = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Checks whether the message is a watchdog query and prepares the answer to it.
    pub(super) fn take_watchdog(&mut self) -> bool {
        let Some(watchdog) = IpWatchdog::decode(self.transport.message()) else { return false };
        // Our own answer may come back on a shared network; answering it would make two clients answer each
        // other.
        let ours = !watchdog.is_answer() && watchdog.connection() == self.connection.number();
        self.watchdog_reply = ours.then(|| watchdog.answer());
        true
    }

    /// Extends the wait after "busy": the server has the request, so only the reply is missing.
    pub(super) fn extend_for_busy(&mut self) {
        let now = self.transport.now();
        // `last` bounds it, so that a server that answers "busy" for ever does not hold the client for ever.
        self.wait.deadline = self.wait.last.min(now + self.options.timeout);
        self.wait.pause = self.options.retry;
        let datagrams = self.transport.kind().is_datagram();
        self.wait.again = if datagrams { now + self.wait.pause } else { self.wait.last };
        self.counts.busy += 1;
    }

    /// Handles a message: the result of the request, or none if the wait continues.
    fn handle_message(&mut self) -> Option<Result<(), ClientError>> {
        let datagrams = self.transport.kind().is_datagram();
        if datagrams && self.take_watchdog() {
            return None;
        }
        let step = self.wait.step;
        let message = self.transport.message();
        let reply = match self.connection.receive(message) {
            Ok(Received::Reply(reply)) => reply,
            Ok(Received::Busy) => {
                self.extend_for_busy();
                return None;
            }
            Ok(Received::Unrelated) => return None,
            // Anyone can send a datagram, so the genuine reply may still arrive.
            Ok(Received::BadSignature) if datagrams => {
                self.wait.bad_signature = true;
                return None;
            }
            Err(_) if datagrams => return None,
            Ok(Received::BadSignature) => return Some(Err(ClientError::BadSignature { step })),
            Err(source) => return Some(Err(ClientError::Wire { step, source })),
        };
        // Checked before the completion code: such a reply has the code 0, which would otherwise look like
        // success (docs/protocols/ncp.md 1.4).
        if reply.status.has(ConnectionStatus::BAD_CONNECTION) {
            return Some(Err(ClientError::ConnectionLost { step }));
        }
        if !reply.completion.is_success() {
            return Some(Err(ClientError::Refused { step, completion: reply.completion }));
        }
        // A signature follows the data on datagrams and precedes the packet on TCP.
        let start = reply.data.as_ptr().addr() - message.as_ptr().addr();
        self.reply = start..start + reply.data.len();
        Some(Ok(()))
    }

    /// Makes a request and waits for the data of its reply.
    pub async fn call(&mut self, step: &'static str, request: &Request<'_>) -> Result<&[u8], ClientError> {
        self.begin(step, request);
        self.finish().await
    }

    /// Makes a request whose reply is one message.
    pub(super) async fn ask<'c, R: Codec<'c, Value = R>>(
        &'c mut self,
        step: &'static str,
        request: &Request<'_>,
    ) -> Result<R, ClientError> {
        R::decode(self.call(step, request).await?).map_err(wire(step))
    }

    /// Waits for the reply to the request in progress.
    pub(super) async fn finish(&mut self) -> Result<&[u8], ClientError> {
        poll_fn(|cx| self.poll(cx)).await?;
        Ok(self.reply())
    }
}
