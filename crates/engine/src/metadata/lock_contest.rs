//! What the jobs of a `lock-contended` cell know of each other: who holds the lock, when it was released, who waits.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Nobody holds the lock, or has held it.
const NOBODY: u32 = 0;

/// The state of one contested lock, shared by all jobs of a cell in this process.
///
/// Jobs on local paths have threads with descriptor tables of their own, where the runtime of one thread cannot be woken by
/// another one. So nobody is woken: a job that waits for another one reads these numbers again after a pause, and only the
/// lock itself, which is what is measured, is handed over by the server. The instants are those of the engine's clock.
///
/// A job becomes the holder in [`Self::grant`] and stops being it in [`Self::release`], which it calls before it sends its
/// unlock. So whoever finds another holder in [`Self::grant`] has found two locks that a server granted at once.
#[derive(Debug, Default)]
pub(crate) struct LockContest {
    holder: AtomicU32,
    released_at: AtomicU64,
    released_by: AtomicU32,
    waiting: AtomicU32,
    grants: AtomicU64,
    hand_overs: AtomicU64,
    ended: AtomicBool,
}

/// A lock that a job was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Its number among all grants of the round, from 1.
    pub number: u64,
    /// The instant at which another job began to unlock, if this job waited then; nanoseconds.
    pub handed_over_at: Option<u64>,
    /// Another job held the lock.
    pub is_violation: bool,
}

/// The number by which a job is known here.
fn identity(job: u32) -> u32 {
    job.saturating_add(1)
}

impl LockContest {
    /// Begins a round, while no job is at work.
    pub fn reset(&self) {
        self.holder.store(NOBODY, Ordering::SeqCst);
        self.released_by.store(NOBODY, Ordering::SeqCst);
        self.waiting.store(0, Ordering::SeqCst);
        self.grants.store(0, Ordering::SeqCst);
        self.hand_overs.store(0, Ordering::SeqCst);
        self.ended.store(false, Ordering::SeqCst);
    }

    /// Ends the round for all jobs: one of them cannot continue.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// True when the lock was handed over `wanted` times, or a job has ended the round.
    pub fn is_over(&self, wanted: u64) -> bool {
        self.ended.load(Ordering::SeqCst) || self.hand_overs.load(Ordering::SeqCst) >= wanted
    }

    /// A job begins to wait for the lock.
    pub fn enter(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// A job no longer waits.
    pub fn leave(&self) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// True while a job waits for the lock.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// The lock has been granted `grants` times.
    pub fn grants(&self) -> u64 {
        self.grants.load(Ordering::SeqCst)
    }

    /// The server has granted the lock to `job`, which requested it at `requested`, in nanoseconds.
    pub fn grant(&self, job: u32, requested: u64) -> Grant {
        let is_violation = self.holder.swap(identity(job), Ordering::SeqCst) != NOBODY;
        let number = self.grants.fetch_add(1, Ordering::SeqCst) + 1;
        let by = self.released_by.load(Ordering::SeqCst);
        let at = self.released_at.load(Ordering::SeqCst);
        let waited = by != NOBODY && by != identity(job) && requested < at;
        let handed_over_at = (waited && !is_violation).then_some(at);
        if handed_over_at.is_some() {
            self.hand_overs.fetch_add(1, Ordering::SeqCst);
        }
        Grant { number, handed_over_at, is_violation }
    }

    /// `job` begins to unlock at the instant `now`, in nanoseconds.
    pub fn release(&self, job: u32, now: u64) {
        self.released_at.store(now, Ordering::SeqCst);
        self.released_by.store(identity(job), Ordering::SeqCst);
        // Another job may hold the lock if the server has granted it twice.
        let _ = self.holder.compare_exchange(identity(job), NOBODY, Ordering::SeqCst, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_over_is_from_the_unlock_of_one_job_to_another_one_that_waited() {
        let contest = LockContest::default();
        let first = Grant { number: 1, handed_over_at: None, is_violation: false };
        assert_eq!(contest.grant(0, 10), first);
        contest.release(0, 50);
        assert_eq!(contest.grant(1, 20), Grant { number: 2, handed_over_at: Some(50), ..first });
        contest.release(1, 70);
        assert_eq!(contest.grant(1, 60), Grant { number: 3, ..first }, "the same job again");
        contest.release(1, 80);
        assert_eq!(contest.grant(0, 81), Grant { number: 4, ..first }, "requested after the unlock");
        assert!(contest.is_over(1) && !contest.is_over(2));
        contest.reset();
        assert_eq!(contest.grant(1, 90), first);
    }

    #[test]
    fn two_holders_at_once_are_a_violation() {
        let contest = LockContest::default();
        assert!(!contest.grant(0, 0).is_violation);
        assert_eq!(contest.grant(1, 5), Grant { number: 2, handed_over_at: None, is_violation: true });
        contest.release(0, 20);
        assert!(contest.grant(2, 10).is_violation, "job 1 holds it still");
        contest.release(2, 30);
        assert!(!contest.grant(0, 25).is_violation);
    }

    #[test]
    fn a_round_ends_by_the_hand_overs_or_by_a_job() {
        let contest = LockContest::default();
        contest.enter();
        assert!(contest.is_wanted() && !contest.is_over(1));
        contest.leave();
        assert!(!contest.is_wanted());
        contest.end();
        assert!(contest.is_over(1));
    }
}
