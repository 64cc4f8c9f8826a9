//! Operations on file data: each is one COMPOUND of SEQUENCE, PUTFH and READ, WRITE or COMMIT.

use sharebench_client_core::connection_error;
use sharebench_model::{DataOp, OpError, Reply, Slot};

use crate::client::open_files::stable_how;
use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::replies::Completion;
use crate::client::v4::callbacks;
use crate::client::v4::compound::{Compound, Sequencing};
use crate::client::v4::recovery::{NextStep, step_after};
use crate::client::v4::session::{Nfs4State, Pending};
use crate::client::v4::slots::{Position, SlotTable};
use crate::protocol::StableHow;
use crate::v4::compound::COMPOUND;
use crate::v4::data::{Commit, Read, WriteHead};
use crate::v4::operation::Operation;
use crate::xdr::Writer;

impl Nfs4State {
    /// Sends an operation as a new call, or lets it wait for a slot of the server's session.
    #[inline]
    pub(crate) fn send_when_possible(&mut self, index: usize) -> Result<(), OpError> {
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
                (expected, stable_how(stability))
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
        let payload = self.payloads.prefix(index, payload as usize).unwrap_or_default();
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

    /// Starts operations that wait for a slot of the server's session.
    pub(super) fn start_waiting(&mut self) -> bool {
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
    pub(super) fn fail_waiting(&mut self, replies: &mut Vec<Reply>) -> bool {
        let Some(error) = self.channel.failure() else { return false };
        let delayed = self.recovery.take_delayed();
        for index in self.waiting.drain(..).chain(delayed) {
            let requests = self.pending[index].sent;
            replies.push(Reply { slot: Slot(index as u32), result: Err(error.clone()), requests });
        }
        false
    }

    /// Answers the calls of the server that have arrived. True if there was one.
    pub(super) fn answer_callbacks(&mut self) -> bool {
        let mut answered = false;
        while let Some((at, record)) = self.channel.take_callback() {
            answered = true;
            let session = self.slots.as_ref().map(|slots| slots.session);
            let mut reply = Writer::default();
            // What is no call at all has no reply.
            if callbacks::answer(&record, session, &mut self.callback_slot, &mut reply).is_ok() {
                self.channel.answer_callback(at, |writer| writer.raw(reply.as_slice()));
            }
        }
        answered
    }

    pub(super) fn send_orphans(&mut self) -> bool {
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
            self.replies.calls.deliver(index, result.map(|_| verdict));
            return None;
        }
        let Some(pending) = self.pending.get_mut(index) else {
            self.finish_renewal(verdict);
            return None;
        };
        let requests = pending.sent;
        let sequenced = pending.position.is_some();
        let step =
            if self.channel.failure().is_some() { NextStep::Finish } else { step_after(verdict, sequenced) };
        if step != NextStep::RepeatCall
            && let Some(position) = pending.position.take()
            && let Some(slots) = &mut self.slots
        {
            slots.release(position, step != NextStep::Lost);
        }
        match step {
            NextStep::Finish => {
                self.recovery.replied();
                let result = self.files.check_reply(expected, result);
                return Some(Reply { slot: Slot(index as u32), result, requests });
            }
            NextStep::RepeatCall | NextStep::RepeatLater => self.recovery.delay(index),
            NextStep::RepeatNow => {
                if let Err(error) = self.send_when_possible(index) {
                    return Some(Reply { slot: Slot(index as u32), result: Err(error), requests });
                }
            }
            NextStep::Lost => {
                let detail = result.err().map_or_else(|| "SEQUENCE failed".to_owned(), |error| error.detail);
                let error = connection_error::disconnected(detail);
                self.channel.give_up(error.clone());
                return Some(Reply { slot: Slot(index as u32), result: Err(error), requests });
            }
        }
        None
    }
}
