//! What one of several load machines contributed to a step.

use serde::{Deserialize, Serialize};

use crate::{Histogram, IoBytes};

/// One rank's part of a step that several measured as one. What ranks counted adds up to the step's measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankShare {
    /// Its number, from 0.
    pub rank: u32,
    /// Name of its machine.
    pub host: String,
    /// Users it was given.
    pub users: u32,
    /// Users that completed at least one transaction in the window.
    pub users_reported: u32,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// Application bytes.
    pub bytes: IoBytes,
    /// Failures of all classes.
    pub errors: u64,
    /// Response times of what completed.
    pub response: Histogram,
    /// How long after the common start its last user was let go, in nanoseconds.
    pub late_ns: u64,
    /// How exactly its clock is known beside the leader's, in nanoseconds.
    pub clock_error_ns: u64,
}

impl RankShare {
    /// A rank whose users do less than this share of what the middle rank's do is slow.
    pub const SLOW: f64 = 0.8;
    /// A rank whose median response time is above that of the middle rank by this factor waits longer.
    pub const WAITS: f64 = 2.0;
    /// Where a rank was to do fewer transactions than this, nothing can be said of it.
    pub const FEW: f64 = 20.0;

    /// How far apart ranks with users started, in nanoseconds; none for a step of one rank.
    pub fn start_skew_ns(ranks: &[Self]) -> Option<u64> {
        let late = || ranks.iter().filter(|rank| rank.users > 0).map(|rank| rank.late_ns);
        (ranks.len() > 1).then(|| late().max().unwrap_or(0) - late().min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_is_between_the_first_and_the_last_that_had_something_to_do() {
        let rank = |users, late_ns| RankShare { users, late_ns, ..RankShare::default() };
        let ranks = [rank(2, 40), rank(1, 90), rank(0, 0)];
        assert_eq!(RankShare::start_skew_ns(&ranks), Some(50));
        assert_eq!(RankShare::start_skew_ns(&ranks[..1]), None);
    }
}
