//! Recovery: operations that the server postponed, the lease of an idle client, and lost connections.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_client_core::{Connection, connection_error};
use sharebench_model::{OpError, WireCount};
use sharebench_target::LocalBoxFuture;
use tokio::time::Sleep;

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::dialect::Verdict;
use crate::client::rpc::link::Link;
use crate::client::v4::binding::Binding;
use crate::client::v4::compound::Compound;
use crate::client::v4::session::Nfs4State;
use crate::client::v4::slots::{Position, SlotTable};
use crate::v4::client_id::Renew;
use crate::v4::compound::{COMPOUND, OK};
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;
use crate::xdr::Writer;

/// Delays between repetitions of a call that the server postpones: the first one, then doubled.
// Short at first, because a grace period may be nearly over, and at most a second, so that the end of
// it is noticed soon.
pub(crate) const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Number of connections that may be lost one after the other without a reply in between.
const MAX_RECONNECTS: u32 = 3;
/// An idle client renews its lease each time that this part of it is over.
const RENEWALS_PER_LEASE: u32 = 3;

const DELAY: u32 = Nfs4Status::Delay.code();
const GRACE: u32 = Nfs4Status::Grace.code();
const RETRY_UNCACHED: u32 = Nfs4Status::RetryUncachedRep.code();

/// What a reply means for its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// The server performed it.
    Finish,
    /// The server did nothing, or is still busy with an earlier attempt: the same call again, a little later.
    RepeatCall,
    /// The server performed SEQUENCE and postponed the operation: a new call, a little later.
    RepeatLater,
    /// The server performed an earlier attempt, and has not kept its reply: a new call.
    RepeatNow,
    /// The session does not exist any longer.
    Lost,
}

/// Decides by the status of SEQUENCE and that of the operation (RFC 8881, 15.1).
#[inline]
pub(crate) const fn step_after(verdict: Verdict, sequenced: bool) -> NextStep {
    let sequence = if sequenced { verdict.sequence } else { OK };
    match (sequence, verdict.status) {
        (OK, DELAY | GRACE) => NextStep::RepeatLater,
        // A server says so for SEQUENCE or for the operation after it (RFC 8881, 2.10.6.1.3).
        (OK | RETRY_UNCACHED, RETRY_UNCACHED) | (RETRY_UNCACHED, _) => NextStep::RepeatNow,
        (OK, _) => NextStep::Finish,
        (DELAY, _) => NextStep::RepeatCall,
        _ => NextStep::Lost,
    }
}

type Reconnecting = LocalBoxFuture<'static, Result<(Link, WireCount), OpError>>;

/// What a session is waiting for while it recovers.
pub(crate) struct Recovery {
    /// Operations that are to be sent again when the timer expires.
    delayed: Vec<usize>,
    timer: Option<Pin<Box<Sleep>>>,
    next_delay: Duration,
    reconnecting: Option<Reconnecting>,
    /// Connections lost since the last reply.
    attempts: u32,
    connect_timeout: Duration,
    /// Lease of the client; none until it is known.
    pub(crate) lease: Option<Duration>,
    /// When an idle client renews its lease.
    renewal: Option<Pin<Box<Sleep>>>,
    /// Slot of the renewal in flight.
    renewal_position: Option<Position>,
}

impl std::fmt::Debug for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovery").field("delayed", &self.delayed).finish_non_exhaustive()
    }
}

impl Recovery {
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        Self {
            delayed: Vec::new(),
            timer: None,
            next_delay: MIN_RETRY_DELAY,
            reconnecting: None,
            attempts: 0,
            connect_timeout,
            lease: None,
            renewal: None,
            renewal_position: None,
        }
    }

    /// The operation of a slot is sent again later.
    #[cold]
    pub(crate) fn delay(&mut self, index: usize) {
        self.delayed.push(index);
        if self.timer.is_none() {
            self.timer = Some(Box::pin(tokio::time::sleep(self.next_delay)));
            self.next_delay = (self.next_delay * 2).min(MAX_RETRY_DELAY);
        }
    }

    #[inline]
    pub(crate) fn is_delayed(&self, index: usize) -> bool {
        !self.delayed.is_empty() && self.delayed.contains(&index)
    }

    pub(crate) fn is_reconnecting(&self) -> bool {
        self.reconnecting.is_some()
    }

    pub(crate) fn take_delayed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.delayed)
    }

    /// A call was answered, so that the server works again.
    #[inline]
    pub(crate) fn replied(&mut self) {
        if self.attempts > 0 || self.next_delay != MIN_RETRY_DELAY {
            self.attempts = 0;
            self.next_delay = MIN_RETRY_DELAY;
        }
    }
}

/// Replaces the last connection of a session.
async fn reconnect(binding: Binding, limit: Duration) -> Result<(Link, WireCount), OpError> {
    match tokio::time::timeout(limit, binding.connect()).await {
        Ok(Ok(connected)) => Ok(connected),
        Ok(Err(error)) => Err(connection_error::disconnected(error.detail)),
        Err(_) => Err(connection_error::disconnected(format!("no connection within {limit:?}"))),
    }
}

impl Nfs4State {
    /// Polls what the session waits for. True if something was queued.
    #[inline]
    pub(crate) fn recover(&mut self, cx: &mut Context<'_>) -> bool {
        let nothing = self.recovery.timer.is_none() && self.channel.severed().is_none();
        if nothing { false } else { self.recover_now(cx) }
    }

    #[cold]
    fn recover_now(&mut self, cx: &mut Context<'_>) -> bool {
        let mut progress = false;
        if let Some(timer) = &mut self.recovery.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            self.recovery.timer = None;
            for index in self.recovery.take_delayed() {
                progress = true;
                let repeated = match self.pending[index].position {
                    Some(_) => self.send(index, false),
                    None => self.send_when_possible(index),
                };
                if let Err(error) = repeated {
                    self.channel.give_up(error);
                }
            }
        }
        progress | self.poll_reconnect(cx)
    }

    /// True if the last connection is lost and nothing replaces it yet.
    #[inline]
    pub(crate) fn must_reconnect(&self) -> bool {
        self.channel.severed().is_some() && !self.recovery.is_reconnecting()
    }

    /// Replaces the last connection if it is lost: the calls in flight are then sent again.
    fn poll_reconnect(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(cause) = self.channel.severed() else { return false };
        let cause = cause.clone();
        if self.recovery.reconnecting.is_none() {
            if self.recovery.attempts >= MAX_RECONNECTS {
                self.channel.give_up(cause);
                return true;
            }
            self.recovery.attempts += 1;
            let binding = Binding::from_session(self);
            self.recovery.reconnecting = Some(Box::pin(reconnect(binding, self.recovery.connect_timeout)));
        }
        let Some(reconnecting) = &mut self.recovery.reconnecting else { return false };
        let Poll::Ready(connected) = reconnecting.as_mut().poll(cx) else { return false };
        self.recovery.reconnecting = None;
        match connected {
            Ok((stream, wire)) => {
                self.channel.attach(stream);
                self.channel.add_wire(wire);
            }
            Err(error) => {
                let detail = format!("{}; connecting again: {}", cause.detail, error.detail);
                self.channel.give_up(connection_error::disconnected(detail));
            }
        }
        true
    }

    /// While a user thinks: answers the server, and renews the lease.
    pub(crate) fn renew_while_idle(&mut self, cx: &mut Context<'_>) {
        let mut replies = Vec::new();
        self.channel.listens = true;
        loop {
            while self.drive(cx, &mut replies) {}
            if !self.poll_renewal(cx) {
                break;
            }
        }
        self.channel.listens = false;
    }

    /// True if a renewal was queued.
    fn poll_renewal(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(lease) = self.recovery.lease else { return false };
        let period = lease / RENEWALS_PER_LEASE;
        let renewal = self.recovery.renewal.get_or_insert_with(|| Box::pin(tokio::time::sleep(period)));
        if renewal.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.recovery.renewal = None;
        self.renew();
        true
    }

    /// Forgets the timer of an idle client, because each call renews the lease.
    #[inline]
    pub(crate) fn stop_renewal(&mut self) {
        if self.recovery.renewal.is_some() {
            self.recovery.renewal = None;
        }
    }

    /// Queues a call that only renews the lease, unless one is in flight.
    fn renew(&mut self) {
        if self.channel.failure().is_some() || !self.channel.is_idle(self.renewal_index()) {
            return;
        }
        self.recovery.renewal_position = self.slots.as_mut().and_then(SlotTable::acquire);
        // Without a free slot calls are in flight, which renew the lease.
        if self.slots.is_none() || self.recovery.renewal_position.is_some() {
            self.send_renewal(false);
        }
    }

    /// Encodes SEQUENCE, or RENEW in minor version 0.
    pub(crate) fn send_renewal(&mut self, again: bool) {
        let index = self.renewal_index();
        let sequencing = self.sequencing(self.recovery.renewal_position);
        let client_id = self.client_id;
        let minor = self.minor;
        self.channel.count_operations(1);
        let arguments = |writer: &mut Writer| {
            let mut compound = Compound::begin(writer, minor, sequencing, false);
            if sequencing.is_none() {
                compound.operation(Operation::Renew, &Renew { client_id });
            }
            compound.end();
        };
        if again {
            self.channel.call_again(index, COMPOUND, &[], &arguments);
        } else {
            self.channel.call(index, ExpectedReply::Renewal, COMPOUND, &[], arguments);
        }
    }

    /// Ends a renewal. A failure is reported by the next operation that needs the session.
    #[cold]
    pub(crate) fn finish_renewal(&mut self, verdict: Verdict) {
        let position = self.recovery.renewal_position.take();
        if let (Some(slots), Some(position)) = (&mut self.slots, position) {
            slots.release(position, verdict.sequence == OK || verdict.sequence == RETRY_UNCACHED);
        }
    }

    /// The channel's index of the renewal, after those of the data operations.
    pub(crate) fn renewal_index(&self) -> usize {
        self.payloads.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_was_not_kept_is_a_new_call_wherever_the_server_says_so() {
        for sequence in [OK, RETRY_UNCACHED] {
            let verdict = Verdict { sequence, status: RETRY_UNCACHED };
            assert_eq!(step_after(verdict, true), NextStep::RepeatNow);
        }
        assert_eq!(step_after(Verdict { sequence: OK, status: DELAY }, true), NextStep::RepeatLater);
        assert_eq!(step_after(Verdict { sequence: DELAY, status: DELAY }, true), NextStep::RepeatCall);
        assert_eq!(step_after(Verdict { sequence: 10_052, status: 10_052 }, true), NextStep::Lost);
        assert_eq!(step_after(Verdict { sequence: OK, status: 70 }, true), NextStep::Finish);
    }
}
