//! Trust lines: one status each for what could invalidate the numbers.

use serde::{Deserialize, Serialize};

/// A traffic light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Nothing against it.
    Ok,
    /// Compare with care.
    Warning,
    /// Something is invalid; the text says what.
    Failed,
}

/// One reason to believe the numbers, or not to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustLine {
    /// How it stands.
    pub status: Status,
    /// What was looked at, in two or three words.
    pub subject: String,
    /// What was seen, and what it invalidates.
    pub text: String,
}
