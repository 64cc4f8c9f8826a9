//! Self-checks, counted over steps and cells.

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, Verdict};

/// One check over all steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSummary {
    /// Short name, such as `little`.
    pub name: String,
    /// Steps that passed it.
    pub valid: usize,
    /// Steps with a warning.
    pub warnings: usize,
    /// Steps that it made invalid.
    pub invalid: usize,
    /// Steps without the data that it needs.
    pub not_known: usize,
    /// The arithmetic of the first step with the worst verdict.
    pub example: String,
}

impl CheckSummary {
    /// The worst of its verdicts.
    pub fn verdict(&self) -> Verdict {
        match (self.invalid, self.warnings, self.valid) {
            (1.., _, _) => Verdict::Invalid,
            (_, 1.., _) => Verdict::Warning,
            (_, _, 1..) => Verdict::Valid,
            _ => Verdict::NotKnown,
        }
    }
}

/// A cell of a comparison that lost steps, on either side, to failed checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinnedCell {
    /// Its position.
    pub coordinates: Coordinates,
    /// Steps left out.
    pub steps: usize,
    /// True when too few were left to compare the cell at all.
    pub whole: bool,
}
