//! What the users of a load work with: target, clock, directories, stop signal.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use sharebench_plan::{TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::load::user::user_files::UserFileStore;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// What the users of all threads count together.
#[derive(Debug, Default)]
pub(crate) struct LoadCounters {
    /// Shared files that were read after an outage.
    pub looked_at: AtomicU32,
    /// The number of the semaphore that users take: another one after each that was lost with its unit.
    pub semaphore: AtomicU32,
}

/// Everything that the users of a load need of the run, for one step or for a series of steps. It borrows from the run,
/// and all threads of the load share it.
pub(crate) struct LoadEnvironment<'a> {
    pub target: &'a dyn Target,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// The run's directory on the target.
    pub directory: &'a str,
    /// The directory of the shared data set.
    pub set_directory: &'a str,
    pub counters: &'a LoadCounters,
    /// Users' files between steps.
    pub file_store: &'a UserFileStore,
    pub seed: u64,
}

impl LoadEnvironment<'_> {
    /// What each session of the load must be able to hold.
    pub fn session_spec(&self, work: &TransactionWork) -> SessionSpec {
        let most = self.target.capabilities().max_record;
        SessionSpec {
            // One request per user of the session can be in flight, as far as the adapter carries them.
            slots: work.users_per_session.min(self.target.shared_queue_depth()).max(1),
            slot_bytes: work.workload.largest_request().min(most),
            connect_timeout: self.timeout,
            allow_split: true,
        }
    }
}
