//! What every operation on a target needs, whichever part of the engine sends it.

use std::path::Path;

use sharebench_plan::Verify;

use crate::data::server_disk_stat;
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
    /// Where the server's system counts the reads of its storage; none where nobody requested it.
    pub server_disk_stat: Option<&'a Path>,
}

impl PassContext<'_> {
    /// Bytes that the server's storage has read so far, where they are counted.
    pub fn storage_read(&self) -> Option<u64> {
        server_disk_stat::read_so_far(self.server_disk_stat?)
    }

    /// A context with the same settings and a deadline of its own, for another session.
    pub fn another(&self) -> Self {
        Self { deadline: self.deadline.another(), ..*self }
    }
}
