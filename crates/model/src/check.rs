//! Self-checks: what a step says against itself.

use serde::{Deserialize, Serialize};

/// How far a step may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing could be read to check with: neither for nor against the step.
    NotKnown,
    /// Every check held.
    #[default]
    Valid,
    /// A check failed that widens the doubt; compare with care.
    Warning,
    /// The number does not mean what it says; left out of comparisons.
    Invalid,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::NotKnown => "not known",
            Self::Valid => "valid",
            Self::Warning => "warning",
            Self::Invalid => "invalid",
        })
    }
}

/// One self-check of a step, whether it held or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Short name, such as `little` or `bytes`.
    pub name: String,
    /// What it means for the step.
    pub verdict: Verdict,
    /// The arithmetic and the remedy, in a sentence.
    pub detail: String,
}
