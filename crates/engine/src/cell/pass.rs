//! One pass over a file: the innermost loop, with `depth` operations in flight.

use sharebench_model::{DataOp, FileRef, OpError, Reply, Slot, Stability, StepError};
use sharebench_target::Session;

use crate::cell::access_pattern::RecordAccess;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::record::meter::Meter;
use crate::record::request::complete;
use crate::record::tally::Tally;
use crate::record::verify::verify;

/// An operation in flight: which record it accesses and when it started.
#[derive(Clone, Copy, Default)]
struct InFlight {
    access: RecordAccess,
    started: u64,
}

/// Why a pass has nothing in flight any more.
enum DriveEnd {
    OrderDone,
    SliceOver,
}

/// One pass over the records of a file with `depth` operations in flight: the innermost loop of a sweep.
///
/// It borrows the session, the file's expected state and the context for the time of [`Self::run`], which consumes
/// it. It fills the buffers of a batch before the first operation of the batch starts, submits the batch, waits for
/// replies, and counts and verifies each of them before its slot is used again. A slot is either free, filled, or in
/// flight.
///
/// Busy time, the union of the intervals with at least one operation in flight, divides the bytes of a cell. It
/// excludes filling and verifying only while nothing is in flight, so that at depth 1 a cell's rate contains no work
/// of the generator (docs/design/clock-and-recording.md, Busy time). Cells, throughput jobs and the generator's
/// ceiling use this loop; whatever moves one request at a time uses [`crate::record::request`] instead.
pub(crate) struct Pass<'a, 'b> {
    pub context: &'a mut PassContext<'b>,
    pub session: &'a mut dyn Session,
    pub file: &'a mut FileState,
    pub handle: FileRef,
    pub record_size: u32,
    pub depth: u32,
    /// The content that written records get; none if the pass only reads.
    pub content: Option<Content>,
}

impl Pass<'_, '_> {
    /// Runs `order` to its end and adds what it measured to `tally`.
    ///
    /// The busy time is the union of the intervals with operations in flight: filling and verifying
    /// buffers happens outside it where nothing is in flight, and is taken off the CPU time.
    pub async fn run(
        mut self,
        mut order: impl Iterator<Item = RecordAccess>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        let meter = Meter::start(self.context.clock, self.session);
        let result = self.drive(&mut order, false, tally).await;
        meter.stop(self.context.clock, self.session, tally);
        result.map(drop)
    }

    /// As [`Self::run`], but whenever a slice of the cell is over, the other targets have their turns before the next
    /// operation starts. Their time is in none of the counts.
    pub async fn run_in_turns(
        mut self,
        mut order: impl Iterator<Item = RecordAccess>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        loop {
            let meter = Meter::start(self.context.clock, self.session);
            let result = self.drive(&mut order, true, tally).await;
            meter.stop(self.context.clock, self.session, tally);
            match result? {
                DriveEnd::OrderDone => return Ok(()),
                DriveEnd::SliceOver => self.context.pass_turn(tally.busy_ns, tally.operations).await?,
            }
        }
    }

    async fn drive(
        &mut self,
        order: &mut impl Iterator<Item = RecordAccess>,
        in_turns: bool,
        tally: &mut Tally,
    ) -> Result<DriveEnd, StepError> {
        let depth = self.depth as usize;
        let mut flights = vec![InFlight::default(); depth];
        // Reversed, because slots are taken from the end: a depth of 1 then always uses slot 0.
        let mut free: Vec<Slot> = (0..self.depth).rev().map(Slot).collect();
        let mut ready: Vec<Slot> = Vec::with_capacity(depth);
        let mut replies: Vec<Reply> = Vec::with_capacity(depth);
        let mut busy_since = 0;
        let mut idle_since = self.context.clock.now();
        loop {
            // A stop starts no further operations, but waits for those in flight: their bytes are on the wire
            // and have to be counted.
            let stopped = self.context.stop.is_stopped();
            // With nothing to take turns with, one comparison is all that this costs.
            let slice_over = in_turns
                && self.context.turn.as_ref().is_some_and(|turn| {
                    let in_flight_ns = if free.len() < depth { idle_since - busy_since } else { 0 };
                    turn.is_over(tally.busy_ns + in_flight_ns, tally.operations)
                });
            while !stopped
                && !slice_over
                && let Some(slot) = free.pop()
            {
                let Some(access) = order.next() else {
                    free.push(slot);
                    break;
                };
                flights[slot.0 as usize].access = access;
                self.fill(slot, access);
                ready.push(slot);
            }
            let was_idle = free.len() + ready.len() == depth;
            // Buffers are all filled before the first of the batch starts, so that no operation's time
            // holds another's filling.
            let mut started = self.context.clock.now();
            tally.generator_ns += started - idle_since;
            if was_idle {
                busy_since = started;
            }
            for (index, slot) in ready.drain(..).enumerate() {
                if index > 0 {
                    started = self.context.clock.now();
                }
                flights[slot.0 as usize].started = started;
                let op = self.op(flights[slot.0 as usize].access);
                self.session.submit(slot, op);
            }
            if free.len() == depth {
                return match (stopped, slice_over) {
                    (true, _) => Err(StepError::Stopped),
                    (false, true) => Ok(DriveEnd::SliceOver),
                    (false, false) => Ok(DriveEnd::OrderDone),
                };
            }
            // Returns with at least one reply, so that a slot is free in the next round.
            self.context.deadline.replies(self.session, &mut replies).await?;
            // One reading for the whole batch: each reply had arrived by then, and a second reading would charge
            // verification of the first reply to the second (docs/design/clock-and-recording.md).
            let ended = self.context.clock.now();
            idle_since = ended;
            let mut lost = None;
            for reply in replies.drain(..) {
                free.push(reply.slot);
                let flight = flights[reply.slot.0 as usize];
                if let Err(error) = self.finish(reply, flight, ended, tally) {
                    // The remaining replies of the batch are counted as well before the pass ends.
                    lost.get_or_insert(error);
                }
            }
            if free.len() == depth {
                tally.busy_ns += ended - busy_since;
            }
            if let Some(error) = lost {
                return Err(error.into());
            }
        }
    }

    fn op(&self, access: RecordAccess) -> DataOp {
        let file = self.handle;
        let offset = access.offset;
        let len = self.record_size;
        if access.write {
            DataOp::Write { file, offset, len, stability: Stability::Unstable }
        } else {
            DataOp::Read { file, offset, len }
        }
    }

    fn fill(&mut self, slot: Slot, access: RecordAccess) {
        if let (true, Some(content)) = (access.write, self.content) {
            let len = self.record_size as usize;
            stamp::fill(&mut self.session.buffer(slot)[..len], content, access.offset);
        }
    }

    /// Counts one reply and verifies what was read. An error means that the target is lost, so that the pass ends.
    fn finish(
        &mut self,
        reply: Reply,
        flight: InFlight,
        ended: u64,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        tally.operation(flight.started, ended);
        let RecordAccess { offset, write } = flight.access;
        let len = self.record_size;
        let mut result = complete(self.op(flight.access), reply.result);
        if let (true, Some(content)) = (write, self.content) {
            if result.is_ok() {
                self.file.written(offset, len, content.generation);
                tally.bytes.written += u64::from(len);
            } else {
                self.file.lost(offset, len);
            }
        } else if result.is_ok() {
            tally.bytes.read += u64::from(len);
            let buffer = &self.session.buffer(reply.slot)[..len as usize];
            let expected = self.file.expected(offset, len);
            let verified = verify(self.context.verify, &self.file.path, buffer, offset, expected);
            tally.verified += verified.bytes;
            result = verified.result;
        }
        tally.outcome(result)
    }
}
