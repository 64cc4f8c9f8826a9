//! What every operation on a target needs, whichever part of the engine sends it.

use sharebench_plan::Verify;

use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// What every pass needs of its run, in addition to its file: clock, stop signal, verification and deadline. Each job
/// and the run itself have one; the deadline belongs to one session at a time.
pub(crate) struct PassContext<'a> {
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub deadline: Deadline,
}

impl PassContext<'_> {
    /// A context with the same settings and a deadline of its own, for another session.
    pub fn another(&self) -> Self {
        Self { deadline: self.deadline.another(), ..*self }
    }
}
