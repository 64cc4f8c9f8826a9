//! Calls about names and states: one at a time for each operation.

use std::cell::Cell;
use std::task::Poll;

use sharebench_client_core::{connection_error, submit_error};
use sharebench_model::{OpError, OpStep};

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::dialect::Verdict;
use crate::client::v4::compound::{Compound, Encoded, Results, reply_head};
use crate::client::v4::recovery::{MAX_RETRY_DELAY, MIN_RETRY_DELAY, NextStep, step_after};
use crate::client::v4::session::{Nfs4Session, Nfs4State};
use crate::v4::compound::{COMPOUND, OK};
use crate::v4::operation::Operation;
use crate::v4::session::{DestroyClientId, DestroySession};
use crate::v4::status::Nfs4Status;
use crate::xdr::Writer;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The server performed it, whether with success or not.
    Performed,
    /// The server did nothing and wants it later.
    Postponed,
    /// The server did nothing, because it has forgotten the client, which has nothing to lose.
    Forgotten(Verdict),
}

/// A reply, and how the call reached the server.
struct Exchanged {
    verdict: Verdict,
    /// Largest number of results with which the call can be repeated.
    repeatable: u32,
    /// It was sent more than once.
    resent: bool,
}

/// A call: its name in errors, and what the server has to know about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    name: &'static str,
    /// The server keeps the reply for a repeated call, because a second execution would have another effect.
    cache: bool,
    /// The open-owner whose sequence number the call carries in minor version 0.
    owner: Option<u32>,
}

impl Request {
    /// A call that changes nothing.
    pub(crate) const fn reading(operation: Operation) -> Self {
        Self { name: operation.name(), cache: false, owner: None }
    }

    /// A call that changes names, attributes or states.
    pub(crate) const fn changing(operation: Operation) -> Self {
        Self { name: operation.name(), cache: true, owner: None }
    }

    /// A call that opens a file, reads it and closes it. Its reply is too large to be kept, and performing it twice leaves the
    /// file as it was.
    pub(crate) const fn whole_file() -> Self {
        Self { name: Operation::Open.name(), cache: false, owner: None }
    }

    /// A call with the sequence number of an open-owner.
    pub(crate) const fn owned(operation: Operation, owner: u32) -> Self {
        Self { name: operation.name(), cache: true, owner: Some(owner) }
    }
}

/// Who performs a call. Each attempt gets its own, because the server may have forgotten the client of the one before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) client_id: u64,
    /// Sequence number of the call's open-owner; 0 without one, and in minor versions with sessions.
    pub(crate) sequence: u32,
}

/// True if an operation with this status counts for the sequence number of its owner (RFC 7530, 9.1.7).
const fn advances_owner(status: u32) -> bool {
    !matches!(
        Nfs4Status::from_code(status),
        Some(
            Nfs4Status::StaleClientid
                | Nfs4Status::StaleStateid
                | Nfs4Status::BadStateid
                | Nfs4Status::BadSeqid
                | Nfs4Status::Badxdr
                | Nfs4Status::Resource
                | Nfs4Status::Nofilehandle
                | Nfs4Status::Moved
        )
    )
}

impl Nfs4Session {
    /// Performs one call. `build` appends its operations after SEQUENCE. A call that the server postpones before it changes
    /// anything is repeated for as long as its task waits.
    pub(crate) async fn request(
        &mut self,
        request: Request,
        build: impl Fn(&mut Compound<'_>, Caller),
    ) -> Result<Results<'_>, OpError> {
        self.perform_request(request, &build).await?;
        Results::new(self.channel.metadata_result(self.index), self.is_sequenced())
    }

    // One function for all operations: a copy for each would add a quarter of a megabyte to the program.
    async fn perform_request(
        &mut self,
        request: Request,
        build: &dyn Fn(&mut Compound<'_>, Caller),
    ) -> Result<(), OpError> {
        let mut delay = MIN_RETRY_DELAY;
        let mut replaced = false;
        self.stop_renewal();
        loop {
            match self.attempt(request, build).await? {
                Attempt::Performed => return Ok(()),
                Attempt::Postponed => {
                    self.pause(tokio::time::sleep(delay)).await;
                    delay = (delay * 2).min(MAX_RETRY_DELAY);
                }
                Attempt::Forgotten(_) if !replaced && !self.is_establishing => {
                    replaced = true;
                    self.replace_client().await?;
                }
                Attempt::Forgotten(verdict) => return Err(self.lose_session(verdict)),
            }
        }
    }

    /// Performs a call until the server has accepted its slot and number.
    async fn attempt(
        &mut self,
        request: Request,
        build: &dyn Fn(&mut Compound<'_>, Caller),
    ) -> Result<Attempt, OpError> {
        let at_step = |error: OpError| OpError { step: OpStep::Request(request.name), ..error };
        if let Some(error) = self.channel.failure() {
            return Err(at_step(error));
        }
        let index = self.index;
        if let Some(abandoned) = self.replies.calls.take(index) {
            // The caller of the last operation dropped its future, and the reply has arrived since.
            self.release_call_position(abandoned.is_ok_and(|verdict| verdict.sequence == OK));
        }
        if !self.channel.is_idle(index) || self.call_positions[index].is_some() {
            let error = submit_error::abandoned_request(request.name);
            self.channel.give_up(error.clone());
            return Err(error);
        }
        self.acquire_call_position().await.map_err(at_step)?;
        let mut delay = MIN_RETRY_DELAY;
        loop {
            let Exchanged { verdict, repeatable, resent } = match self.exchange(request, build).await {
                Ok(exchanged) => exchanged,
                Err(error) => {
                    // The server rejected the call before it looked at the slot, or the session is lost.
                    self.release_call_position(false);
                    return Err(at_step(error));
                }
            };
            let step = step_after(verdict, self.is_sequenced());
            if step == NextStep::RepeatCall {
                self.pause(tokio::time::sleep(delay)).await;
                delay = (delay * 2).min(MAX_RETRY_DELAY);
                continue;
            }
            self.release_call_position(step != NextStep::Lost);
            // A call that was sent twice may have been performed in the earlier session, and what CLOSE closes is lost with it.
            let closes = request.name == Operation::Close.name();
            if !(resent || closes) && self.is_forgotten(verdict) && self.has_no_state() {
                return Ok(Attempt::Forgotten(verdict));
            }
            return match step {
                NextStep::Lost => Err(at_step(self.lose_session(verdict))),
                // The server has forgotten the reply to a call that changes nothing.
                NextStep::RepeatNow => Ok(Attempt::Postponed),
                _ => self.accept(request, repeatable, step),
            };
        }
    }

    /// Status of the last call, if it failed.
    pub(crate) fn last_status(&self) -> Option<Nfs4Status> {
        reply_head(self.channel.metadata_result(self.index))
            .ok()
            .and_then(|head| Nfs4Status::from_code(head.status))
    }

    /// Counts the call for its owner, and decides whether it can be repeated.
    fn accept(&mut self, request: Request, repeatable: u32, step: NextStep) -> Result<Attempt, OpError> {
        let head = reply_head(self.channel.metadata_result(self.index))?;
        let count = head.count;
        let status = head.status;
        let reached = count >= repeatable;
        let succeeded = status == OK || count > repeatable;
        if let Some(owner) = request.owner
            && reached
            && (succeeded || advances_owner(status))
        {
            self.owners.advance(owner);
        }
        let postponed = step == NextStep::RepeatLater && count <= repeatable;
        Ok(if postponed { Attempt::Postponed } else { Attempt::Performed })
    }

    /// True if the server did nothing because it does not know the session or the client any longer, such as after a lease in
    /// which the client was idle.
    fn is_forgotten(&self, verdict: Verdict) -> bool {
        let forgotten = matches!(
            session_status(verdict, self.is_sequenced()),
            Some(
                Nfs4Status::Badsession
                    | Nfs4Status::Deadsession
                    | Nfs4Status::Expired
                    | Nfs4Status::StaleClientid
            )
        );
        forgotten && (self.is_sequenced() || self.minor == 0)
    }

    /// True if nothing depends on what the server has forgotten: no file is open, and no other call is in flight or will be
    /// before this one ends.
    fn has_no_state(&self) -> bool {
        !self.is_one_of_several() && self.files.is_empty() && self.channel.is_idle(self.renewal_index())
    }

    #[cold]
    fn lose_session(&mut self, verdict: Verdict) -> OpError {
        let status = session_status(verdict, self.is_sequenced());
        let detail = status.map_or_else(|| "the session is lost".to_owned(), |status| status.to_string());
        let error = connection_error::disconnected(detail);
        self.channel.give_up(error.clone());
        error
    }

    /// Takes a slot of the server's session. A renewal of the lease or other operations may hold the last one.
    async fn acquire_call_position(&mut self) -> Result<(), OpError> {
        let index = self.index;
        self.drive_until(|state| {
            if let Some(error) = state.channel.failure() {
                return Poll::Ready(Err(error));
            }
            let Some(slots) = &mut state.slots else { return Poll::Ready(Ok(())) };
            state.call_positions[index] = slots.acquire();
            if state.call_positions[index].is_some() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    fn release_call_position(&mut self, performed: bool) {
        let index = self.index;
        let state: &mut Nfs4State = self;
        if let (Some(slots), Some(position)) = (&mut state.slots, state.call_positions[index].take()) {
            slots.release(position, performed);
        }
    }

    /// Sends the call and waits for its reply, across the loss of connections.
    async fn exchange(
        &mut self,
        request: Request,
        build: &dyn Fn(&mut Compound<'_>, Caller),
    ) -> Result<Exchanged, OpError> {
        let index = self.index;
        let sequencing = self.sequencing(self.call_positions[index]);
        let sequence = request.owner.map_or(0, |owner| self.owners.sequence(owner));
        // Minor versions with sessions ignore the sequence numbers of owners, which are zero (RFC 8881, 8.8).
        let sequence = if self.minor == 0 { sequence } else { 0 };
        let minor = self.minor;
        let caller = Caller { client_id: self.client_id, sequence };
        let encoded = Cell::new(Encoded::default());
        let arguments = |writer: &mut Writer| {
            let mut compound = Compound::begin(writer, minor, sequencing, request.cache);
            build(&mut compound, caller);
            encoded.set(compound.end());
        };
        self.channel.call(index, ExpectedReply::Metadata, COMPOUND, &[], arguments);
        self.channel.count_operations(encoded.get().operations);
        let mut sent = 1;
        let result = self
            .reply(|state| {
                state.channel.call_again(index, COMPOUND, &[], &arguments);
                state.channel.count_operations(encoded.get().operations);
                sent += 1;
            })
            .await;
        self.requests += sent;
        self.recovery.replied();
        Ok(Exchanged { verdict: result?, repeatable: encoded.get().repeatable, resent: sent > 1 })
    }

    /// The call with the least work for the server: SEQUENCE alone, or PUTROOTFH in minor version 0.
    pub(crate) async fn empty(&mut self) -> Result<(), OpError> {
        let sequenced = self.is_sequenced();
        let request = Request::reading(if sequenced { Operation::Sequence } else { Operation::PutRootFh });
        self.request(request, |compound, _| {
            if !sequenced {
                compound.plain(Operation::PutRootFh);
            }
        })
        .await
        .map(drop)
    }

    /// Ends the session at the server: open files, session and client id. Errors are ignored, because a server ends
    /// them by itself when the lease expires.
    pub(crate) async fn end(&mut self) {
        for open in self.files.drain() {
            let _ = self.close_state(open.handle).await;
        }
        let Some(slots) = self.slots.take() else { return };
        let session = slots.session;
        // Both stand alone in their call, without SEQUENCE (RFC 8881, 18.37.3 and 18.50.3).
        let request = Request::reading(Operation::DestroySession);
        let destroyed = self.request(request, |compound, _| {
            compound.operation(Operation::DestroySession, &DestroySession { session });
        });
        let _ = destroyed.await.map(drop);
        let client_id = self.client_id;
        let request = Request::reading(Operation::DestroyClientId);
        let destroyed = self.request(request, |compound, _| {
            compound.operation(Operation::DestroyClientId, &DestroyClientId { client_id });
        });
        let _ = destroyed.await.map(drop);
    }
}

/// What a reply says about the session: the status of SEQUENCE or, without sessions (4.0), that of the call.
fn session_status(verdict: Verdict, is_sequenced: bool) -> Option<Nfs4Status> {
    Nfs4Status::from_code(if is_sequenced { verdict.sequence } else { verdict.status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_sessions_the_call_says_what_became_of_the_client() {
        const EXPIRED: u32 = 10_011;
        let verdict = Verdict { sequence: 0, status: EXPIRED };
        assert_eq!(session_status(verdict, false), Some(Nfs4Status::Expired));
        assert_eq!(session_status(verdict, true), None);
    }
}
