//! What an experiment proves: its quantities, and the verdict on them.

use serde::Serialize;

/// Result of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every quantity was within its tolerance, and the machine was quiet.
    Pass,
    /// A quantity was outside its tolerance although the machine was quiet.
    Fail,
    /// The machine was not quiet in any attempt: neither pass nor fail.
    TooNoisy,
    /// A prerequisite is missing; [`Proof::why`] names it.
    NotRun,
}

/// One quantity of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the quantity.
    pub quantity: String,
    /// The true value.
    pub truth: String,
    /// The measured value.
    pub measured: String,
    /// The allowed deviation.
    pub tolerance: String,
    /// True if the deviation is within the tolerance.
    pub holds: bool,
}

impl Row {
    /// Creates a row.
    pub(crate) fn new(
        quantity: impl Into<String>,
        truth: impl Into<String>,
        measured: impl Into<String>,
        tolerance: impl Into<String>,
        holds: bool,
    ) -> Self {
        Self {
            quantity: quantity.into(),
            truth: truth.into(),
            measured: measured.into(),
            tolerance: tolerance.into(),
            holds,
        }
    }
}

/// Result of one attempt.
pub(crate) struct Attempt {
    pub rows: Vec<Row>,
    /// Why the attempt cannot be judged, for experiments that detect noise themselves.
    pub noise: Option<String>,
}

impl Attempt {
    pub fn holds(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.holds)
    }
}

impl From<Vec<Row>> for Attempt {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, noise: None }
    }
}

/// Result of an experiment, with the rows of the deciding attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Such as `K1`.
    pub id: &'static str,
    /// Short description.
    pub title: &'static str,
    /// The result.
    pub verdict: Verdict,
    /// Attempts made.
    pub attempts: u32,
    /// Truth and measured value of each quantity.
    pub rows: Vec<Row>,
    /// Why it failed or could not be judged; empty if it passed.
    pub why: String,
}
