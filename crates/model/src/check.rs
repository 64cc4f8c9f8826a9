//! Self-checks: evidence of a step against its own numbers.

use serde::{Deserialize, Serialize};

/// The verdict of self-checks about a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The data for the check is not available: neither for nor against the step.
    NotKnown,
    /// Every check passed.
    #[default]
    Valid,
    /// A check found a disturbance: the number stays, marked in every table.
    Warning,
    /// The number does not measure what it claims; comparisons leave it out.
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

/// One self-check of a step, whether it passed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Short name, such as `little` or `bytes`.
    pub name: String,
    /// The verdict of the check on the step.
    pub verdict: Verdict,
    /// The calculation and the remedy, in one sentence.
    pub detail: String,
}
