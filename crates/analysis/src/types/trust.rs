//! Trust lines: one status each for what could invalidate the numbers.

use serde::{Deserialize, Serialize};

/// The status of a trust line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// No objection.
    Ok,
    /// Compare with care.
    Warning,
    /// Something is invalid; the text says what.
    Failed,
}

/// One reason to trust the numbers or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustLine {
    /// Its status.
    pub status: Status,
    /// The subject, in two or three words.
    pub subject: String,
    /// The observation, and what it invalidates.
    pub text: String,
}
