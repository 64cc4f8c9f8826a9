//! What each rank counted in a step, and how it becomes one result: exactly as if one process had counted it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_cluster::Ranks;
use sharebench_model::{Check, ErrorClass, JobShare, OpError, RankShare, StepError};

use crate::ranks::agreement::{keep_worst, named};
use crate::record::mount_wire::MountWire;
use crate::record::tally::Tally;

/// Maximum number of failures of a step that are reported with their text.
const MAX_FAILURE_TEXTS: usize = 5;

/// The part of a step's result that one rank counted, or several ranks after [`Self::merge`].
///
/// Each rank makes one after it has measured. Contributions are merged along a tree of ranks and arrive at the
/// leader, which sorts them ([`Self::settle`]), so that the result does not depend on the shape of the tree.
/// Histograms are merged bucket by bucket: the result is what one process would have counted
/// (docs/design/several-machines.md).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Contribution {
    pub error: Option<StepError>,
    pub tally: Tally,
    /// Samples of failures: class and text, which names the rank. Those of the tally are moved here, because an
    /// [`OpError`] does not pass between processes.
    pub failure_samples: Vec<(ErrorClass, String)>,
    /// The shares of users or jobs, by number.
    pub users: Vec<(u32, JobShare)>,
    pub shares: Vec<RankShare>,
    /// The wire count of each machine's mount. Ranks on one machine share the mount, so the largest of their counts
    /// is used.
    mounts: BTreeMap<String, MountWire>,
    /// The machine checks of each rank.
    pub checks: Vec<(u32, Vec<Check>)>,
}

impl Contribution {
    /// The contribution of this rank: what its users counted, and the checks of its machine.
    pub fn new(ranks: &Ranks, mut tally: Tally, numbers: &[u32], users: u32, checks: Vec<Check>) -> Self {
        let failure_samples = std::mem::take(&mut tally.failure_samples);
        let mounts = [(ranks.host().to_owned(), std::mem::take(&mut tally.mount_wire))].into();
        let named =
            |error: OpError| (error.class, format!("rank {} ({}): {error}", ranks.rank(), ranks.host()));
        let job_shares = std::mem::take(&mut tally.shares);
        let share = RankShare {
            rank: ranks.rank(),
            host: ranks.host().to_owned(),
            users,
            users_reported: tally.users_reported,
            operations: tally.operations,
            transactions: tally.transactions,
            bytes: tally.bytes,
            errors: tally.errors.values().sum(),
            response: tally.response.clone(),
            late_ns: tally.late_ns,
            clock_error_ns: ranks.aligned().error_ns,
        };
        Self {
            error: None,
            failure_samples: failure_samples.into_iter().map(named).collect(),
            users: numbers.iter().copied().zip(job_shares).collect(),
            shares: vec![share],
            mounts,
            checks: vec![(ranks.rank(), checks)],
            tally,
        }
    }

    /// The contribution of a rank that could not measure. It has to take part in the reduction, because the other
    /// ranks wait for it.
    pub fn failed(error: StepError, ranks: &Ranks) -> Self {
        Self { error: Some(named(error, ranks)), ..Self::default() }
    }

    /// Adds the contribution of other ranks.
    pub fn merge(&mut self, other: Self) {
        keep_worst(&mut self.error, other.error);
        // Histograms add up bucket by bucket, so that percentiles of all ranks are exact; percentiles
        // themselves cannot be added (docs/design/several-machines.md).
        self.tally.merge(other.tally);
        self.failure_samples.extend(other.failure_samples);
        // Bounded: the message to the parent must not grow with the number of ranks.
        self.failure_samples.truncate(MAX_FAILURE_TEXTS);
        self.users.extend(other.users);
        self.shares.extend(other.shares);
        self.checks.extend(other.checks);
        for (host, wire) in other.mounts {
            self.mounts.entry(host).or_default().join(wire);
        }
    }

    /// Sorts everything by rank and user, whatever order the tree had.
    pub fn settle(&mut self) {
        self.users.sort_by_key(|(number, _)| *number);
        self.shares.sort_by_key(|share| share.rank);
        self.checks.sort_by_key(|(rank, _)| *rank);
        self.tally.shares = self.users.drain(..).map(|(_, share)| share).collect();
        for wire in std::mem::take(&mut self.mounts).into_values() {
            self.tally.mount_wire.add_machine(wire);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sharebench_model::{IoBytes, RateBase};

    use super::*;

    /// One operation: which rank, how long, how many bytes, whether it failed, when it ended.
    type Counted = (usize, u64, u32, bool, u64);

    fn count(tally: &mut Tally, (_, nanos, bytes, failed, at): &Counted) {
        tally.operations += 1;
        tally.transactions += u64::from(!failed);
        tally.bytes.read += u64::from(*bytes);
        if *failed {
            *tally.errors.entry(ErrorClass::Busy).or_default() += 1;
            tally.unfinished.response.record(*nanos);
        } else {
            tally.response.record(*nanos);
            tally.service.record(nanos / 2);
            tally.lag.record(nanos - nanos / 2);
            tally.response_batches.record(*at, *nanos);
        }
        tally.spans(*at, at + nanos);
        tally.detail.fairness.add(u64::from(*bytes));
        tally.late_ns = tally.late_ns.max(*nanos);
    }

    proptest! {
        #[test]
        fn what_ranks_counted_is_what_one_would_have_counted(
            all in proptest::collection::vec(
                (0..5_usize, 1..5_000_000_000_u64, 0..2_000_000_u32, any::<bool>(), 0..60_000_000_000_u64),
                1..300,
            )
        ) {
            let mut one = Tally::default();
            let mut ranks = vec![Tally::default(); 5];
            for counted in &all {
                count(&mut one, counted);
                count(&mut ranks[counted.0], counted);
            }
            let through = |tally: Tally| -> Contribution {
                let said = Contribution { tally, ..Contribution::default() };
                serde_json::from_str(&serde_json::to_string(&said).unwrap()).unwrap()
            };
            let mut merged = Contribution::default();
            for tally in ranks {
                merged.merge(through(tally));
            }
            merged.settle();
            let of = |tally: Tally| {
                let unfinished = tally.unfinished.clone();
                let mut measure = tally.into_measure(9, RateBase::Window, false);
                unfinished.count_in(&mut measure);
                measure
            };
            let merged = of(merged.tally);
            let one = of(one);
            prop_assert_eq!(merged.bytes, IoBytes { read: all.iter().map(|c| u64::from(c.2)).sum(), written: 0 });
            prop_assert_eq!(merged, one);
        }
    }
}
