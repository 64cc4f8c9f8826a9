//! What all jobs of a cell share.

use std::time::Duration;

use sharebench_cluster::Ranks;
use sharebench_plan::{RecordWork, Verify};
use sharebench_target::Target;

use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// What all jobs of a cell share.
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
    /// Numbers of the jobs that work in this process.
    pub fn numbers(&self, jobs: u32) -> Vec<u32> {
        self.ranks.map_or_else(|| (0..jobs).collect(), |ranks| ranks.users(jobs))
    }
}
