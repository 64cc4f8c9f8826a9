//! Liveness check at the end of a run: a rank that died does not answer.

use std::collections::BTreeSet;

use crate::transport::{Alert, Transport};

/// Answers that rank 0 receives after the launcher requested the end of the run.
///
/// The launcher sends the same signal to all ranks, and each live rank answers with [`Alert::Stopping`]. After a
/// timeout, which the caller measures, the ranks without an answer are lost.
#[derive(Debug)]
pub struct LivenessCheck {
    answered: BTreeSet<u32>,
    size: u32,
}

impl LivenessCheck {
    /// Starts without answers.
    pub fn new(transport: &dyn Transport) -> Self {
        Self { answered: BTreeSet::new(), size: transport.size() }
    }

    /// Adds answers; returns true once all ranks have answered.
    pub fn record(&mut self, alerts: &[(u32, Alert)]) -> bool {
        let stopping = alerts.iter().filter(|(_, alert)| *alert == Alert::Stopping);
        self.answered.extend(stopping.map(|(rank, _)| *rank));
        self.missing().is_empty()
    }

    /// Returns the ranks that have not answered.
    pub fn missing(&self) -> Vec<u32> {
        (1..self.size).filter(|rank| !self.answered.contains(rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn rank_without_an_answer_is_missing() {
        let ranks = threads(4);
        let mut check = LivenessCheck::new(&ranks[0]);
        for rank in [1, 3] {
            ranks[rank].alert(0, Alert::Stopping);
        }
        assert!(!check.record(&ranks[0].alerts()));
        assert_eq!(check.missing(), [2]);
        ranks[2].alert(0, Alert::Stopping);
        assert!(check.record(&ranks[0].alerts()));
    }
}
