//! Systems under comparison: one target of one run each.

use serde::{Deserialize, Serialize};
use sharebench_model::{Facts, StepResult};

use crate::types::Access;

/// One target of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Unique among the systems of an analysis.
    pub name: String,
    /// URL without password.
    pub url: String,
    /// Index of its run.
    pub run: usize,
    /// Index of its target within the run.
    pub target: u32,
    /// How it is reached.
    pub access: Access,
    /// Minimum measured time per cell; none if the plan does not state it.
    pub min_sample_time: Option<String>,
    /// What was negotiated.
    pub facts: Facts,
}

impl System {
    /// True when the step measured this system, given the step's run.
    pub(crate) fn owns(&self, run: usize, step: &StepResult) -> bool {
        self.run == run && self.target == step.target
    }

    /// True if another program measured it.
    pub(crate) fn is_imported(&self) -> bool {
        self.url.starts_with("imported from ")
    }

    /// True if its bytes cross a link. For imported systems this follows from their description.
    pub(crate) fn uses_link(&self) -> bool {
        let local = |fact: &String| {
            let fact = fact.to_lowercase();
            fact.contains("no network") || fact.contains("local disk")
        };
        if self.is_imported() { !self.facts.values().any(local) } else { self.access != Access::Local }
    }
}
