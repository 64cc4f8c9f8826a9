//! What every operation on a target needs, whichever part of the engine sends it.

use std::path::Path;

use sharebench_model::{RunEvent, StepError};
use sharebench_plan::Verify;

use crate::data::progress_reports::ProgressReports;
use crate::data::server_disk_stat;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;
use crate::time::turns::Turn;

/// What every pass needs of its run, in addition to its file: clock, stop signal, verification and deadline. Each job
/// and the run itself have one; the deadline belongs to one session at a time.
pub(crate) struct PassContext<'a> {
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub deadline: Deadline,
    /// Where the server's system counts the reads of its storage; none where nobody requested it.
    pub server_disk_stat: Option<&'a Path>,
    /// Receives how far the filling and removal of directories is; none for jobs.
    pub reports: Option<&'a ProgressReports<'a>>,
    /// The part of a cell that is interleaved with those of other targets; none for any other work.
    pub turn: Option<Turn<'a>>,
}

impl<'a> PassContext<'a> {
    /// The settings that every operation needs, without turns.
    pub fn new(clock: &'a Clock, stop: &'a StopSignal, verify: Verify, deadline: Deadline) -> Self {
        Self { clock, stop, verify, deadline, server_disk_stat: None, reports: None, turn: None }
    }

    /// Fails if the run is to stop.
    pub fn check_stop(&self) -> Result<(), StepError> {
        if self.stop.is_stopped() { Err(StepError::Stopped) } else { Ok(()) }
    }

    /// Bytes that the server's storage has read so far, where they are counted.
    pub fn storage_read(&self) -> Option<u64> {
        server_disk_stat::read_so_far(self.server_disk_stat?)
    }

    /// A context with the same settings and a deadline of its own, for another session.
    pub fn another(&self) -> Self {
        let another = Self::new(self.clock, self.stop, self.verify, self.deadline.another());
        Self { server_disk_stat: self.server_disk_stat, ..another }
    }

    /// Reports how many entries of directories that are being filled exist.
    pub fn report_filled(&self, done: u64, of: u64) {
        if let Some(reports) = self.reports {
            let what = "entries of the directories";
            reports.report(self.clock.now(), |target| RunEvent::Preparing { target, what, done, of });
        }
    }

    /// Reports how many entries of a directory that is being removed are gone.
    pub fn report_removed(&self, entries: u64) {
        if let Some(reports) = self.reports {
            reports.report(self.clock.now(), |target| RunEvent::Removing { target, entries });
        }
    }

    /// Lets the other targets of the cell have their turns if the slice is over; `busy_ns` and `operations` are those of
    /// the cell so far.
    pub async fn end_slice_at(&mut self, busy_ns: u64, operations: u64) -> Result<(), StepError> {
        if self.turn.as_ref().is_some_and(|turn| turn.is_over(busy_ns, operations)) {
            return self.pass_turn(busy_ns, operations).await;
        }
        Ok(())
    }

    /// Lets the other targets of the cell have their turns. If one of them fails, the cell ends here.
    pub async fn pass_turn(&mut self, busy_ns: u64, operations: u64) -> Result<(), StepError> {
        let clock = self.clock;
        let Some(turn) = &mut self.turn else { return Ok(()) };
        if turn.wait(|| clock.now(), busy_ns, operations).await { Ok(()) } else { Err(StepError::Stopped) }
    }

    /// Time in which other targets had the turn.
    pub fn waited_ns(&self) -> u64 {
        self.turn.as_ref().map_or(0, Turn::waited_ns)
    }
}
