//! One request at a time to one server: sent, sent again where it may be lost, and answered before a deadline.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::bursts::Bursts;
use super::carrier::Carrier;
use super::options::{Counts, Options};
use super::probing::Probed;
use super::{Arrival, ClientError, Conversation};
use crate::security::signature::Transport;
use crate::wire::packet::ConnectionStatus;
use crate::wire::watchdog::IpWatchdog;
use crate::wire::{Request, WireError};

/// How often "busy" may prolong a wait.
const MAX_BUSY: u32 = 10;
/// The longest pause before a request is sent again, in first pauses.
pub(super) const MAX_PAUSE: u32 = 8;

/// A client of one server. What it calls is in its other modules: connecting, files, names.
#[derive(Debug)]
pub struct Client<C> {
    pub(super) carrier: C,
    pub(super) conversation: Conversation,
    pub(super) options: Options,
    pub(super) buffer: u16,
    pub(super) signs: bool,
    pub(super) checks: bool,
    pub(super) probed: Probed,
    pub(super) large: bool,
    pub(super) wait: Wait,
    /// Where the reply's data is in the carrier's message.
    reply: Range<usize>,
    /// Packet burst, when both sides have it.
    pub(super) burst: Option<Bursts>,
    /// The answer to a watchdog, to be sent before anything else.
    alive: Option<IpWatchdog>,
    pub(super) counts: Counts,
}

/// The wait for one reply.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) step: &'static str,
    send: bool,
    pub(super) pause: Duration,
    pub(super) again: Duration,
    pub(super) deadline: Duration,
    last: Duration,
    bad_signature: bool,
}

pub(super) fn wire(step: &'static str) -> impl Fn(WireError) -> ClientError {
    move |source| ClientError::Wire { step, source }
}

impl<C: Carrier> Client<C> {
    pub(super) fn new(carrier: C, options: Options) -> Self {
        let conversation = Conversation::new(carrier.transport());
        let wait = Wait {
            step: "nothing",
            send: false,
            pause: Duration::ZERO,
            again: Duration::ZERO,
            deadline: Duration::ZERO,
            last: Duration::ZERO,
            bad_signature: false,
        };
        Self {
            carrier,
            conversation,
            options,
            buffer: super::options::MIN_BUFFER,
            signs: false,
            checks: false,
            probed: Probed::No,
            large: false,
            wait,
            reply: 0..0,
            burst: None,
            alive: None,
            counts: Counts::default(),
        }
    }

    /// What carries the packets.
    pub const fn carrier(&self) -> &C {
        &self.carrier
    }

    /// Gives memory back that only calls need, unless one is under way.
    pub fn release_buffers(&mut self) {
        self.conversation.release_buffers();
    }

    /// The same, to be changed.
    pub const fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// What was counted so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// True while a reply is waited for; a request begun then would be a second one under way.
    pub fn is_waiting(&self) -> bool {
        self.conversation.is_waiting() || self.is_bursting()
    }

    /// Makes a request; [`Self::poll`] sends it and waits for its reply. `step` names it in errors.
    pub fn begin(&mut self, step: &'static str, request: &Request<'_>) {
        self.forget_burst();
        self.conversation.request(request);
        self.begin_wait(step);
    }

    /// Waits for the reply to what was made last.
    pub(super) fn begin_wait(&mut self, step: &'static str) {
        let now = self.carrier.now();
        let timeout = self.options.timeout;
        self.counts.requests += 1;
        self.wait = Wait {
            step,
            send: true,
            pause: self.options.retry,
            again: now + self.options.retry,
            deadline: now + timeout,
            last: now + timeout * (MAX_BUSY + 1),
            bad_signature: false,
        };
        if self.carrier.transport() == Transport::Tcp {
            self.wait.again = self.wait.last;
        }
    }

    /// The server may take so much longer for what was begun.
    pub(super) fn extend(&mut self, by: Duration) {
        self.wait.deadline += by;
        self.wait.last += by;
        if self.carrier.transport() == Transport::Tcp {
            self.wait.again = self.wait.last;
        }
    }

    /// The data of the reply taken last.
    pub fn reply(&self) -> &[u8] {
        self.carrier.message().get(self.reply.clone()).unwrap_or_default()
    }

    /// Sends what was begun and is ready when its reply is there, or why there is none. An error other than
    /// [`ClientError::Refused`] ends the connection.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        if self.is_bursting() {
            return self.poll_burst(cx);
        }
        let step = self.wait.step;
        let io = |source| Err(ClientError::Io { step, source });
        loop {
            if let Err(error) = ready!(self.poll_alive(cx)) {
                return Poll::Ready(io(error));
            }
            if self.wait.send {
                let message = self.conversation.again();
                if let Err(error) = ready!(self.carrier.poll_send(cx, message, self.wait.deadline)) {
                    return Poll::Ready(io(error));
                }
                self.counts.sent += message.len() as u64;
                self.wait.send = false;
            }
            let until = self.wait.again.min(self.wait.deadline);
            match ready!(self.carrier.poll_receive(cx, until)) {
                Ok(true) => {
                    self.counts.received += self.carrier.message().len() as u64;
                    if let Some(done) = self.arrived() {
                        return Poll::Ready(done);
                    }
                }
                Ok(false) => {}
                Err(error) => return Poll::Ready(io(error)),
            }
            // A peer may fill the carrier with what is no reply: the time counts whatever came.
            let now = self.carrier.now();
            if now >= self.wait.deadline {
                let bad = self.wait.bad_signature;
                let late = io(io::ErrorKind::TimedOut.into());
                return Poll::Ready(if bad { Err(ClientError::BadSignature { step }) } else { late });
            }
            if now >= self.wait.again {
                self.wait.pause = (self.wait.pause * 2).min(self.options.retry * MAX_PAUSE);
                self.wait.again = now + self.wait.pause;
                self.wait.send = true;
                self.counts.resent += 1;
            }
        }
    }

    /// Answers the watchdog while nothing is under way; other messages are late answers, which nobody waits for any more.
    /// Over TCP no watchdog asks: the connection itself tells.
    pub fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        if self.is_waiting() || self.carrier.transport() == Transport::Tcp {
            return;
        }
        // A socket that fails does so again at the next request, which tells.
        while let Poll::Ready(Ok(())) = self.poll_alive(cx) {
            let until = self.carrier.now() + self.options.timeout;
            let Poll::Ready(Ok(true)) = self.carrier.poll_receive(cx, until) else { return };
            self.counts.received += self.carrier.message().len() as u64;
            self.is_watchdog();
        }
    }

    /// Answers the watchdog, if it has asked.
    pub(super) fn poll_alive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(alive) = self.alive {
            let packet = alive.packet();
            ready!(self.carrier.poll_send(cx, &packet, self.wait.deadline))?;
            self.counts.sent += packet.len() as u64;
            self.alive = None;
        }
        Poll::Ready(Ok(()))
    }

    /// True for a question of the watchdog, which is answered next.
    pub(super) fn is_watchdog(&mut self) -> bool {
        let Some(watchdog) = IpWatchdog::decode(self.carrier.message()) else { return false };
        let ours = !watchdog.is_answer() && watchdog.connection() == self.conversation.connection();
        self.alive = ours.then(|| watchdog.answer());
        true
    }

    /// "Busy" prolongs the wait: whatever was lost on the way has come by now, and only the answer is missing.
    pub(super) fn prolong(&mut self) {
        let now = self.carrier.now();
        self.wait.deadline = self.wait.last.min(now + self.options.timeout);
        self.wait.pause = self.options.retry;
        let datagrams = self.carrier.transport() != Transport::Tcp;
        self.wait.again = if datagrams { now + self.wait.pause } else { self.wait.last };
        self.counts.busy += 1;
    }

    /// What a message means for the wait: its end, or nothing.
    fn arrived(&mut self) -> Option<Result<(), ClientError>> {
        let datagrams = self.carrier.transport() != Transport::Tcp;
        if datagrams && self.is_watchdog() {
            return None;
        }
        let (step, message) = (self.wait.step, self.carrier.message());
        let reply = match self.conversation.arrival(message) {
            Ok(Arrival::Reply(reply)) => reply,
            Ok(Arrival::Busy) => {
                self.prolong();
                return None;
            }
            Ok(Arrival::Foreign) => return None,
            // Anyone can send a datagram: the right one may still come.
            Ok(Arrival::BadSignature) if datagrams => {
                self.wait.bad_signature = true;
                return None;
            }
            Err(_) if datagrams => return None,
            Ok(Arrival::BadSignature) => return Some(Err(ClientError::BadSignature { step })),
            Err(source) => return Some(Err(ClientError::Wire { step, source })),
        };
        if reply.status.has(ConnectionStatus::BAD_CONNECTION) {
            return Some(Err(ClientError::ConnectionLost { step }));
        }
        if !reply.completion.is_success() {
            return Some(Err(ClientError::Refused { step, completion: reply.completion }));
        }
        // A signature stands behind the data on datagrams, and before the packet on TCP.
        let start = reply.data.as_ptr().addr() - message.as_ptr().addr();
        self.reply = start..start + reply.data.len();
        Some(Ok(()))
    }

    /// Makes a request and waits for the data of its reply.
    pub async fn call(&mut self, step: &'static str, request: &Request<'_>) -> Result<&[u8], ClientError> {
        self.begin(step, request);
        self.finish().await
    }

    /// Waits for the reply to what was begun.
    pub(super) async fn finish(&mut self) -> Result<&[u8], ClientError> {
        poll_fn(|cx| self.poll(cx)).await?;
        Ok(self.reply())
    }
}
