//! The contribution of one load machine to a step that several machines measure.

use serde::{Deserialize, Serialize};

use crate::{Histogram, IoBytes};

/// One rank's contribution to a step. The counts of all ranks add up to the step's measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankShare {
    /// Rank number, from 0.
    pub rank: u32,
    /// Host name.
    pub host: String,
    /// Virtual users or jobs assigned to the rank.
    pub users: u32,
    /// Users or jobs that completed at least one transaction in the window.
    pub users_reported: u32,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// Application bytes.
    pub bytes: IoBytes,
    /// Failures of all classes.
    pub errors: u64,
    /// Response times of completed transactions.
    pub response: Histogram,
    /// Delay of the rank's last user after the common start, in nanoseconds.
    pub late_ns: u64,
    /// Uncertainty of its clock offset to the leader, in nanoseconds.
    pub clock_error_ns: u64,
}

impl RankShare {
    /// A rank is slow if its users complete less than this share of the median rank's transactions per user.
    pub const SLOW: f64 = 0.8;
    /// A rank waits longer if its median response time exceeds the median rank's by this factor.
    pub const WAITS: f64 = 2.0;
    /// Fewest expected transactions from which a rank is judged.
    pub const FEW: f64 = 20.0;

    /// Start skew: time between the first and the last start of ranks with users, in nanoseconds; none for one rank.
    pub fn start_skew_ns(ranks: &[Self]) -> Option<u64> {
        let late = || ranks.iter().filter(|rank| rank.users > 0).map(|rank| rank.late_ns);
        (ranks.len() > 1).then(|| late().max().unwrap_or(0) - late().min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_skew_ignores_ranks_without_users() {
        let rank = |users, late_ns| RankShare { users, late_ns, ..RankShare::default() };
        let ranks = [rank(2, 40), rank(1, 90), rank(0, 0)];
        assert_eq!(RankShare::start_skew_ns(&ranks), Some(50));
        assert_eq!(RankShare::start_skew_ns(&ranks[..1]), None);
    }
}
