//! What all users of one thread share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use sharebench_plan::{TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::load::user::shared_login::Groups;
use crate::load::user::user_files::UserFileStore;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;
use crate::time::window::Window;

/// Time between two checks of the stop signal during a sleep. The last sleep before a start may be twice as long.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of users up to which the interval is not prolonged. With more users each sleeps longer, so that these
/// wake-ups do not cost more than the work.
const NAPPING: u64 = 500;
/// Longest time between two checks of the stop signal.
const LONGEST_NAP: Duration = Duration::from_secs(1);
/// What all users of one thread share.
///
/// A thread of a load step makes one and lends it to its users. Everything except the tally and the shared sessions
/// is immutable. Those two are reached through `RefCell`, because the users of a thread are tasks of one
/// single-threaded runtime: they never run at the same time, so that nothing on the measured path needs a lock.
pub(crate) struct ThreadContext<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub schedule: &'a ArrivalSchedule,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// Our directory on the target.
    pub directory: &'a str,
    /// The directory of the shared data set.
    pub set_directory: &'a str,
    /// What is known of users' own files between steps.
    pub file_store: &'a UserFileStore,
    pub spec: SessionSpec,
    pub seed: u64,
    pub tally: Rc<RefCell<Tally>>,
    /// Shared files that were read after an outage, of all threads.
    pub looked_at: &'a AtomicU32,
    /// Sessions that users share.
    pub groups: Groups,
}

impl ThreadContext<'_> {
    /// Time between two checks of the stop signal during a sleep, in nanoseconds.
    pub(crate) fn poll_interval(&self) -> u64 {
        let poll_interval = POLL_INTERVAL.as_nanos() as u64;
        (poll_interval * u64::from(self.work.users) / NAPPING)
            .clamp(poll_interval, LONGEST_NAP.as_nanos() as u64)
    }

    /// Counts a transaction that was in flight, or waited for a free user, when the window ended. Its elapsed time is
    /// a lower bound of its response time.
    pub(crate) fn censor(&self, intended: u64, started: Option<u64>, window: Window) {
        // A start that was due after the window does not belong to it.
        if intended >= window.end {
            return;
        }
        let mut tally = self.tally.borrow_mut();
        tally.censored += 1;
        // The elapsed time is a lower bound: leaving the transaction out would make a slow server look fast
        // (docs/measurement-rules.md 1.7).
        tally.unfinished.response.record(window.end - intended);
        if let Some(started) = started {
            tally.unfinished.service.record(window.end.saturating_sub(started));
        }
        // Only the part within the window counts for Little's law.
        tally.occupancy.unfinished_ns += window.end - intended.max(window.measure);
    }
}
