//! What every operation on a target needs, whichever part of the engine sends it.

use sharebench_plan::Verify;

use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

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
