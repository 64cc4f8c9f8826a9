//! What all users of one thread share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use sharebench_plan::{TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::clock::Clock;
use crate::schedule::Schedule;
use crate::shared_login::Groups;
use crate::stop::StopSignal;
use crate::tally::Tally;
use crate::user_files::Shelf;
use crate::virtual_user::Window;

/// Sleep without a look at the stop signal; the last one before a start may be twice as long.
const NAP: Duration = Duration::from_millis(100);
/// Users whose naps are no shorter than that; of more, each naps longer, so that naps cost no more than work.
const NAPPING: u64 = 500;
/// Longest sleep without a look at the stop signal.
const LONGEST_NAP: Duration = Duration::from_secs(1);
/// What all users of one thread share.
pub(crate) struct Crew<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub schedule: &'a Schedule,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// Our directory on the target.
    pub directory: &'a str,
    /// The directory of the shared data set.
    pub set_directory: &'a str,
    /// Where users' files are kept between steps.
    pub shelf: &'a Shelf,
    pub spec: SessionSpec,
    pub seed: u64,
    pub tally: Rc<RefCell<Tally>>,
    /// Shared files that were read after an outage, of all threads.
    pub looked_at: &'a AtomicU32,
    /// Sessions that users share.
    pub groups: Groups,
}

impl Crew<'_> {
    /// Sleep without a look at the stop signal, nanoseconds.
    pub(crate) fn nap(&self) -> u64 {
        let nap = NAP.as_nanos() as u64;
        (nap * u64::from(self.work.users) / NAPPING).clamp(nap, LONGEST_NAP.as_nanos() as u64)
    }

    /// Counts a transaction that was under way, or waiting for a free user, when the window ended.
    pub(crate) fn censor(&self, intended: u64, started: Option<u64>, window: Window) {
        if intended >= window.end {
            return;
        }
        let mut tally = self.tally.borrow_mut();
        tally.censored += 1;
        tally.unfinished.response.record(window.end - intended);
        if let Some(started) = started {
            tally.unfinished.service.record(window.end.saturating_sub(started));
        }
        tally.occupancy.unfinished_ns += window.end - intended.max(window.measure);
    }
}
