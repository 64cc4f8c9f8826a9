//! What all jobs of a cell share.

use std::time::Duration;

use sharebench_cluster::Ranks;
use sharebench_plan::{RecordWork, Verify};
use sharebench_target::Target;

use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// What all jobs of a throughput cell share: target, work, clock, stop signal and seed.
///
/// The step that measures the cell makes it and lends it to all threads. It is immutable, so that jobs need no lock;
/// what a job counts is in its own [`Job`](crate::cell::job::Job). Random draws of a job come from the seed and the
/// job's number, so that they do not depend on the thread that runs it.
pub(crate) struct CellContext<'a> {
    pub target: &'a dyn Target,
    pub work: &'a RecordWork,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    pub seed: u64,
    /// The other processes of the cell; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
}

impl CellContext<'_> {
    /// The numbers of the cell's jobs that work in this process: all of them, or those of this rank.
    pub fn numbers(&self, jobs: u32) -> Vec<u32> {
        self.ranks.map_or_else(|| (0..jobs).collect(), |ranks| ranks.users(jobs))
    }
}
