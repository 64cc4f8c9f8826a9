//! Operations on file data: each is one COMPOUND of SEQUENCE, PUTFH and READ, WRITE or COMMIT.

use std::task::Context;

use sharebench_client_core::{connection_error, submit_error};
use sharebench_model::{DataOp, ErrorClass, FileRef, OpError, OpStep, Reply, Slot, Stability};
use sharebench_target::buffer_pool;

use crate::client::calls::ExpectedReply;
use crate::client::replies::{Completion, ReplyContent};
use crate::client::v4::compound::{Compound, Sequencing};
use crate::client::v4::dialect::stable_how;
use crate::client::v4::recovery::{Step, step_after};
use crate::client::v4::session::{Nfs4State, Pending};
use crate::client::v4::slots::{Position, SlotTable};
use crate::protocol::StableHow;
use crate::v4::compound::COMPOUND;
use crate::v4::data::{Commit, Read, WriteHead};
use crate::v4::operation::Operation;
use crate::xdr::Writer;

impl Nfs4State {
    pub(crate) fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.buffers.len() || !self.channel.is_idle(index) || self.recovery.is_delayed(index) {
            return Err(OpError::slot_not_idle());
        }
        self.check_operation(slot, op)?;
        self.pending[index] = Pending { op, sent: 0, position: None };
        self.start(index)
    }

    fn check_operation(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        match op {
            DataOp::Read { file, len, .. } => {
                self.files.get(file)?;
                self.check_record(slot, len, "READ", "maxread", self.limits.read_max)
            }
            DataOp::Write { file, len, stability, .. } => {
                let stability = self.files.get(file)?.stability(stability);
                // Counted by what each request carries, not by the plan, so that the check
                // `write-through` compares what was sent.
                self.policy.through += u64::from(stability == Stability::Durable);
                self.check_record(slot, len, "WRITE", "maxwrite", self.limits.write_max)
            }
            DataOp::Flush { file } => self.files.get(file).map(drop),
        }
    }

    fn check_record(
        &mut self,
        slot: Slot,
        len: u32,
        request: &'static str,
        limit: &str,
        max: u32,
    ) -> Result<(), OpError> {
        if len > max {
            return Err(submit_error::record_above_limit(request, len, limit, max));
        }
        match self.buffers.get_mut(slot.0 as usize) {
            Some(buffer) if len as usize <= self.slot_bytes => {
                buffer_pool::ensure(buffer, self.slot_bytes);
                Ok(())
            }
            _ => Err(submit_error::record_above_slot(request, len)),
        }
    }

    /// Sends an operation as a new call, or lets it wait for a slot of the server's session.
    #[inline]
    pub(crate) fn start(&mut self, index: usize) -> Result<(), OpError> {
        if let Some(slots) = &mut self.slots {
            let Some(position) = slots.acquire() else {
                self.waiting.push_back(index);
                return Ok(());
            };
            self.pending[index].position = Some(position);
        }
        self.send(index, false)
    }

    /// Encodes and queues the call of an operation; `again` if it is in flight and its connection is lost.
    #[inline]
    pub(crate) fn send(&mut self, index: usize, again: bool) -> Result<(), OpError> {
        let Pending { op, position, .. } = self.pending[index];
        self.pending[index].sent += 1;
        let sequencing = self.sequencing(position);
        let (file, payload) = match op {
            DataOp::Read { file, .. } | DataOp::Flush { file } => (file, 0),
            DataOp::Write { file, len, .. } => (file, len),
        };
        let open = self.files.get(file)?;
        let state = open.handle.state;
        let handle = open.handle.handle;
        let (expected, stable) = match op {
            DataOp::Read { len, .. } => (ExpectedReply::Read { len }, StableHow::Unstable),
            DataOp::Write { len, stability, .. } => {
                let stability = open.stability(stability);
                let expected = ExpectedReply::Write { file: file.0, len, stability };
                (expected, stable_how(stability == Stability::Durable))
            }
            DataOp::Flush { .. } => (ExpectedReply::Flush { file: file.0 }, StableHow::Unstable),
        };
        self.channel.count_operations(2 + u32::from(sequencing.is_some()));
        let minor = self.minor;
        let arguments = |writer: &mut Writer| {
            // READ, WRITE and COMMIT have the same effect when they are repeated: the server need not keep replies.
            let mut compound = Compound::begin(writer, minor, sequencing, false);
            compound.handle(&handle);
            match op {
                DataOp::Read { offset, len, .. } => {
                    compound.operation(Operation::Read, &Read { state, offset, count: len });
                }
                DataOp::Write { offset, len, .. } => {
                    compound.operation(Operation::Write, &WriteHead { state, offset, stable, count: len });
                }
                // Offset 0 and count 0 commit the whole file (RFC 7530, 16.3).
                DataOp::Flush { .. } => {
                    compound.operation(Operation::Commit, &Commit { offset: 0, count: 0 });
                }
            }
            compound.end();
        };
        let buffer = self.buffers.get(index).and_then(|buffer| buffer.get(..payload as usize));
        let payload = buffer.unwrap_or_default();
        if again {
            self.channel.call_again(index, COMPOUND, payload, &arguments);
        } else {
            self.channel.call(index, expected, COMPOUND, payload, arguments);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn sequencing(&self, position: Option<Position>) -> Option<Sequencing> {
        let session = self.slots.as_ref()?.session;
        position.map(|position| Sequencing { session, position })
    }

    /// Sends, receives and recovers once. True if something was queued that another turn has to send. With `listen`,
    /// calls of the server are received while no call is in flight.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>, listen: bool) -> bool {
        let mut progress = self.recover(cx);
        let mut completions = std::mem::take(&mut self.completions);
        // The result is ignored: `replies` shows whether there was one.
        let _ = self.channel.poll_and_listen(cx, &mut self.buffers, &mut completions, listen);
        for completion in completions.drain(..) {
            match self.finish(completion) {
                Some(reply) => replies.push(reply),
                None => progress = true,
            }
        }
        self.completions = completions;
        progress |= self.start_waiting();
        progress |= self.fail_waiting(replies);
        progress | self.send_orphans() | self.answer_callbacks() | self.must_reconnect()
    }

    /// As [`Self::drive`], while calls are polled: replies to data operations are kept for
    /// [`Session::poll_replies`](sharebench_target::Session::poll_replies).
    pub(crate) fn drive_calls(&mut self, cx: &mut Context<'_>) -> bool {
        let mut ready = std::mem::take(&mut self.ready);
        let before = ready.len();
        let progress = self.drive(cx, &mut ready, false);
        let arrived = ready.len() > before;
        self.ready = ready;
        progress || arrived
    }

    /// Starts operations that wait for a slot of the server's session.
    fn start_waiting(&mut self) -> bool {
        let mut started = false;
        while !self.waiting.is_empty()
            && let Some(position) = self.slots.as_mut().and_then(SlotTable::acquire)
            && let Some(index) = self.waiting.pop_front()
        {
            self.pending[index].position = Some(position);
            started = true;
            if let Err(error) = self.send(index, false) {
                self.channel.give_up(error);
            }
        }
        started
    }

    /// Fails the operations that were not sent before the session was lost.
    fn fail_waiting(&mut self, replies: &mut Vec<Reply>) -> bool {
        let Some(error) = self.channel.failure() else { return false };
        let delayed = self.recovery.take_delayed();
        for index in self.waiting.drain(..).chain(delayed) {
            let requests = self.pending[index].sent;
            replies.push(Reply { slot: Slot(index as u32), result: Err(error.clone()), requests });
        }
        false
    }

    fn send_orphans(&mut self) -> bool {
        let mut found = false;
        while let Some(index) = self.channel.take_orphan() {
            found = true;
            if index == self.renewal_index() {
                self.send_renewal(true);
                continue;
            }
            if let Err(error) = self.send(index, true) {
                // The file was closed while its operation was in flight.
                self.channel.give_up(error);
            }
        }
        found
    }

    /// Decides what a reply means for its slot. None if the operation continues.
    #[inline]
    pub(crate) fn finish(&mut self, completion: Completion) -> Option<Reply> {
        let Completion { index, expected, result, verdict } = completion;
        if expected == ExpectedReply::Metadata {
            // Without effect if its caller has dropped its future.
            self.awaited.deliver(index, result.map(|_| verdict));
            return None;
        }
        let Some(pending) = self.pending.get_mut(index) else {
            self.finish_renewal(verdict);
            return None;
        };
        let requests = pending.sent;
        let sequenced = pending.position.is_some();
        let step =
            if self.channel.failure().is_some() { Step::Finish } else { step_after(verdict, sequenced) };
        if step != Step::RepeatCall
            && let Some(position) = pending.position.take()
            && let Some(slots) = &mut self.slots
        {
            slots.release(position, step != Step::Lost);
        }
        match step {
            Step::Finish => {
                self.recovery.replied();
                let result = self.check_reply(expected, result);
                return Some(Reply { slot: Slot(index as u32), result, requests });
            }
            Step::RepeatCall | Step::RepeatLater => self.recovery.delay(index),
            Step::RepeatNow => {
                if let Err(error) = self.start(index) {
                    return Some(Reply { slot: Slot(index as u32), result: Err(error), requests });
                }
            }
            Step::Lost => {
                let detail = result.err().map_or_else(|| "SEQUENCE failed".to_owned(), |error| error.detail);
                let error = connection_error::disconnected(detail);
                self.channel.give_up(error.clone());
                return Some(Reply { slot: Slot(index as u32), result: Err(error), requests });
            }
        }
        None
    }

    #[inline]
    fn check_reply(
        &mut self,
        expected: ExpectedReply,
        result: Result<ReplyContent, OpError>,
    ) -> Result<u32, OpError> {
        let content = match (expected, result) {
            (_, Ok(content)) => content,
            (ExpectedReply::Flush { file }, Err(error)) => {
                return self.files.get(FileRef(file))?.without_commit(error);
            }
            (_, Err(error)) => return Err(error),
        };
        match (expected, content) {
            (_, ReplyContent::Read(count)) => Ok(count),
            (ExpectedReply::Write { file, len, stability }, ReplyContent::Written(written)) => {
                self.verifier = Some(written.verifier);
                if written.count != len {
                    return Err(submit_error::short_write(written.count, len));
                }
                if written.committed < stable_how(stability == Stability::Durable) {
                    let committed = written.committed.name();
                    let detail =
                        format!("FILE_SYNC was requested, the server answers {committed}: no write-through");
                    return Err(OpError::new(ErrorClass::Protocol, OpStep::Request("WRITE"), detail));
                }
                self.policy.stable += u64::from(written.committed == StableHow::FileSync);
                if written.committed == StableHow::Unstable
                    && let Ok(open) = self.files.get_mut(FileRef(file))
                {
                    open.record_write(written.verifier);
                }
                Ok(len)
            }
            (ExpectedReply::Flush { file }, ReplyContent::Committed(verifier)) => {
                self.verifier = Some(verifier);
                self.files.get_mut(FileRef(file))?.record_commit(verifier).map(|()| 0)
            }
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "the result of another procedure")),
        }
    }
}
