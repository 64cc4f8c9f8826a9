//! One pass over a file: the innermost loop, with `depth` operations in flight.

use sharebench_model::{CpuTime, DataOp, ErrorClass, FileRef, OpError, Reply, Slot, Stability, WireCount};
use sharebench_plan::Verify;
use sharebench_target::Session;

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::file_state::FileState;
use crate::order::Visit;
use crate::stamp::{self, Content};
use crate::stop::StopSignal;
use crate::tally::Tally;

/// A failure that ends the step: the target cannot be used any longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PassEnd {
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
    /// The target failed for good.
    #[error(transparent)]
    Lost(#[from] OpError),
    /// The user's own command between steps failed.
    #[error("{0}")]
    Hook(String),
    /// Our own machinery failed; what was measured is not to be trusted.
    #[error("{0}")]
    Broken(String),
}

/// True for failures that no later operation of the step can survive.
pub(crate) const fn is_fatal(class: ErrorClass) -> bool {
    !matches!(class, ErrorClass::DataMismatch | ErrorClass::Busy | ErrorClass::Io)
}

/// What passes need besides their file.
pub(crate) struct PassContext<'a> {
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub deadline: Deadline,
}

impl PassContext<'_> {
    /// The same for another session.
    pub fn another(&self) -> Self {
        Self { deadline: self.deadline.another(), ..*self }
    }
}

/// An operation in flight.
#[derive(Clone, Copy, Default)]
struct Flight {
    visit: Visit,
    started: u64,
}

/// What a pass of any kind is charged with: its window, the wire, and this thread's CPU time.
pub(crate) struct Meter {
    cpu: CpuTime,
    wire: WireCount,
    mount: Option<WireCount>,
    begin: u64,
}

impl Meter {
    /// Begins now.
    pub fn start(clock: &Clock, session: &dyn Session) -> Self {
        // Files of the system tell it, which takes its time: first here, and last at the end.
        let mount = session.mount_wire();
        Self { mount, cpu: clock.thread_cpu(), wire: session.wire(), begin: clock.now() }
    }

    /// Ends now. Filling and verifying are within the CPU time until [`Tally::operations_cpu`] takes them off.
    pub fn stop(self, clock: &Clock, session: &dyn Session, tally: &mut Tally) {
        let end = clock.now();
        tally.window_ns += end - self.begin;
        tally.spans(self.begin, end);
        tally.wire += session.wire().since(self.wire);
        let spent = clock.thread_cpu();
        tally.cpu.user_ns += spent.user_ns - self.cpu.user_ns;
        tally.cpu.kernel_ns += spent.kernel_ns - self.cpu.kernel_ns;
        tally.mount_wire.add(self.mount, session);
    }
}

/// A pass under way: which records are in flight and what is to be recorded.
pub(crate) struct Pass<'a, 'b> {
    pub context: &'a mut PassContext<'b>,
    pub session: &'a mut dyn Session,
    pub file: &'a mut FileState,
    pub handle: FileRef,
    pub record_size: u32,
    pub depth: u32,
    /// What visits that write put there; none where all read.
    pub content: Option<Content>,
}

impl Pass<'_, '_> {
    /// Runs `order` to its end and adds what it measured to `tally`.
    ///
    /// The busy time is the union of the intervals with operations in flight: filling and verifying
    /// buffers happens outside of it where nothing is in flight, and is taken off the CPU time.
    pub async fn run(
        mut self,
        mut order: impl Iterator<Item = Visit>,
        tally: &mut Tally,
    ) -> Result<(), PassEnd> {
        let meter = Meter::start(self.context.clock, self.session);
        let result = self.drive(&mut order, tally).await;
        meter.stop(self.context.clock, self.session, tally);
        result
    }

    async fn drive(
        &mut self,
        order: &mut impl Iterator<Item = Visit>,
        tally: &mut Tally,
    ) -> Result<(), PassEnd> {
        let depth = self.depth as usize;
        let mut flights = vec![Flight::default(); depth];
        let mut free: Vec<Slot> = (0..self.depth).rev().map(Slot).collect();
        let mut ready: Vec<Slot> = Vec::with_capacity(depth);
        let mut replies: Vec<Reply> = Vec::with_capacity(depth);
        let mut busy_since = 0;
        let mut idle_since = self.context.clock.now();
        loop {
            let stopped = self.context.stop.is_stopped();
            while !stopped && let Some(slot) = free.pop() {
                let Some(visit) = order.next() else {
                    free.push(slot);
                    break;
                };
                flights[slot.0 as usize].visit = visit;
                self.fill(slot, visit);
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
                let op = self.op(flights[slot.0 as usize].visit);
                self.session.submit(slot, op);
            }
            if free.len() == depth {
                return if stopped { Err(PassEnd::Stopped) } else { Ok(()) };
            }
            self.context.deadline.replies(self.session, &mut replies).await?;
            let ended = self.context.clock.now();
            idle_since = ended;
            let mut lost = None;
            for reply in replies.drain(..) {
                free.push(reply.slot);
                let flight = flights[reply.slot.0 as usize];
                if let Err(error) = self.finish(reply, flight, ended, tally) {
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

    fn op(&self, visit: Visit) -> DataOp {
        let (file, offset, len) = (self.handle, visit.offset, self.record_size);
        if visit.write {
            DataOp::Write { file, offset, len, stability: Stability::Unstable }
        } else {
            DataOp::Read { file, offset, len }
        }
    }

    fn fill(&mut self, slot: Slot, visit: Visit) {
        if let (true, Some(content)) = (visit.write, self.content) {
            let len = self.record_size as usize;
            stamp::fill(&mut self.session.buffer(slot)[..len], content, visit.offset);
        }
    }

    /// Books one reply; an error means that the target is lost.
    fn finish(&mut self, reply: Reply, flight: Flight, ended: u64, tally: &mut Tally) -> Result<(), OpError> {
        tally.operations += 1;
        tally.transactions += 1;
        tally.service.record(ended - flight.started);
        tally.slices.record(ended, ended - flight.started);
        let Visit { offset, write } = flight.visit;
        let outcome = match (reply.result, self.content.filter(|_| write)) {
            (Err(error), _) => Err(error),
            (Ok(bytes), _) if bytes != self.record_size => Err(short(bytes, self.record_size, offset)),
            (Ok(_), Some(content)) => {
                self.file.written(offset, self.record_size, content.generation);
                tally.bytes.written += u64::from(self.record_size);
                Ok(())
            }
            (Ok(_), None) => {
                tally.bytes.read += u64::from(self.record_size);
                self.verify(reply.slot, offset, tally)
            }
        };
        let Err(error) = outcome else { return Ok(()) };
        if write {
            self.file.lost(offset, self.record_size);
        }
        let fatal = is_fatal(error.class).then(|| error.clone());
        tally.failure(error);
        fatal.map_or(Ok(()), Err)
    }

    fn verify(&mut self, slot: Slot, offset: u64, tally: &mut Tally) -> Result<(), OpError> {
        let buffer = &self.session.buffer(slot)[..self.record_size as usize];
        verify(self.context.verify, self.file, buffer, offset, tally)
    }
}

/// Checks what was read at `offset` against what the file should hold.
pub(crate) fn verify(
    how: Verify,
    file: &FileState,
    buffer: &[u8],
    offset: u64,
    tally: &mut Tally,
) -> Result<(), OpError> {
    if how == Verify::Off {
        return Ok(());
    }
    for (at, len, content) in file.expected(offset, buffer.len() as u32) {
        let from = (at - offset) as usize;
        stamp::verify(&buffer[from..from + len], content, at, how)
            .map_err(|mismatch| mismatch_error(&file.path, &mismatch))?;
        tally.verified += len as u64;
    }
    Ok(())
}

/// A data error in words.
pub(crate) fn mismatch_error(path: &str, mismatch: &stamp::Mismatch) -> OpError {
    OpError::new(ErrorClass::DataMismatch, "verify", format!("{path} {mismatch}"))
}

/// A transfer that ended early although the file goes on.
pub(crate) fn short(bytes: u32, wanted: u32, offset: u64) -> OpError {
    let detail = format!("{bytes} of {wanted} bytes at offset {offset}");
    OpError::new(ErrorClass::DataMismatch, "short transfer", detail)
}
