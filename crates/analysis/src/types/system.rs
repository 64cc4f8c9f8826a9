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
    /// Least time that its plan asks of each cell; none where the plan does not say.
    pub min_sample_time: Option<String>,
    /// What was negotiated.
    pub facts: Facts,
}

impl System {
    /// True when the step measured this system, given the step's run.
    pub(crate) fn owns(&self, run: usize, step: &StepResult) -> bool {
        self.run == run && self.target == step.target
    }

    /// True when its bytes have to cross a link. Of imported systems only their description can tell.
    pub(crate) fn uses_link(&self) -> bool {
        let local = |told: &String| {
            let told = told.to_lowercase();
            told.contains("no network") || told.contains("local disk")
        };
        if self.url.starts_with("imported from ") {
            !self.facts.values().any(local)
        } else {
            self.access != Access::Local
        }
    }
}
