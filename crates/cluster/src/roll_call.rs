//! Who still answers when a launcher ends the run: a rank that died says nothing.

use std::collections::BTreeSet;

use crate::transport::{Alert, Transport};

/// What rank 0 hears after it was told to end.
#[derive(Debug)]
pub struct RollCall {
    answered: BTreeSet<u32>,
    size: u32,
}

impl RollCall {
    /// Nobody has answered yet.
    pub fn of(transport: &dyn Transport) -> Self {
        Self { answered: BTreeSet::new(), size: transport.size() }
    }

    /// Takes what was heard so far; true once everybody has answered.
    pub fn hear(&mut self, alerts: &[(u32, Alert)]) -> bool {
        let stopping = alerts.iter().filter(|(_, alert)| *alert == Alert::Stopping);
        self.answered.extend(stopping.map(|(rank, _)| *rank));
        self.missing().is_empty()
    }

    /// Ranks that have not answered.
    pub fn missing(&self) -> Vec<u32> {
        (1..self.size).filter(|rank| !self.answered.contains(rank)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;

    #[test]
    fn a_rank_that_says_nothing_is_missed() {
        let ranks = threads(4);
        let mut call = RollCall::of(&ranks[0]);
        for rank in [1, 3] {
            ranks[rank].alert(0, Alert::Stopping);
        }
        assert!(!call.hear(&ranks[0].alerts()));
        assert_eq!(call.missing(), [2]);
        ranks[2].alert(0, Alert::Stopping);
        assert!(call.hear(&ranks[0].alerts()));
    }
}
