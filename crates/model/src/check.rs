//! Self-checks: evidence of a step against its own numbers.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::Sparse;
use crate::sparse::absent;

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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotKnown => "not known",
            Self::Valid => "valid",
            Self::Warning => "warning",
            Self::Invalid => "invalid",
        })
    }
}

/// One self-check of a step, whether it passed or not.
///
/// Copies share the text, because most checks of a run are the same: each step has about ten of them, and a run may have
/// 100,000 steps.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Check(Sparse<CheckText>);

impl Check {
    /// The result of the check `name`.
    pub fn new(name: impl Into<String>, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self(CheckText { name: name.into(), verdict, detail: detail.into() }.into())
    }
}

impl Deref for Check {
    type Target = CheckText;

    fn deref(&self) -> &CheckText {
        &self.0
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

absent!(CheckText);

/// What a [`Check`] states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckText {
    /// Short name, such as `little` or `bytes`.
    pub name: String,
    /// The verdict of the check on the step.
    pub verdict: Verdict,
    /// The calculation and the remedy, in one sentence.
    pub detail: String,
}
