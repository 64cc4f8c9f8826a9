//! What the connections of a target lost, and the bursts that they used, as facts of the run.

use std::sync::{Mutex, PoisonError};

use sharebench_model::{Fact, TargetFacts};

use crate::client::{BurstUse, Counts};

/// Retransmissions, lost fragments of bursts, and the windows and gaps in use, of several connections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossCounts {
    resent: u64,
    lost_fragments: u64,
    burst: Option<BurstUse>,
}

impl LossCounts {
    /// Adds a connection.
    pub(crate) fn add(&mut self, counts: Counts, burst: Option<BurstUse>) {
        self.resent += counts.resent;
        self.lost_fragments += counts.lost_fragments;
        self.burst = match (self.burst, burst) {
            (Some(known), Some(more)) => Some(known.merge(more)),
            (known, more) => known.or(more),
        };
    }

    fn merge(&mut self, other: Self) {
        let Self { resent, lost_fragments, burst } = other;
        self.add(Counts { resent, lost_fragments, ..Counts::default() }, burst);
    }

    /// Adds the facts.
    pub(crate) fn put(self, facts: &mut TargetFacts) {
        let mut add = |fact: Fact, value: String| facts.state(fact, value);
        add(Fact::Resent, self.resent.to_string());
        if let Some(BurstUse { window, gap }) = self.burst {
            let windows = format!("{} to {} bytes, first {}", window.lowest, window.highest, window.first);
            add(Fact::BurstWindowUsed, windows);
            let gaps = format!("{:?} to {:?}, first {:?}", gap.lowest, gap.highest, gap.first);
            add(Fact::BurstGapUsed, gaps);
            add(Fact::BurstFragmentsLost, self.lost_fragments.to_string());
        }
    }
}

/// The sum over all closed sessions of a target.
#[derive(Debug, Default)]
pub(crate) struct LossTotals(Mutex<LossCounts>);

impl LossTotals {
    /// Adds a session.
    pub(crate) fn add(&self, session: LossCounts) {
        // The counts are consistent after a panic, because merging does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).merge(session);
    }

    /// The sum so far.
    pub(crate) fn get(&self) -> LossCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
