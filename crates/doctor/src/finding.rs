//! A finding: one property of this machine and the results that it invalidates.

use serde::Serialize;

/// Result of the check of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The property is within its limit.
    Pass,
    /// The property is outside its limit and invalidates some results.
    Warn,
    /// The property could not be read, so that nothing is known about it.
    Unknown,
}

/// One property of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Short name, such as `timer`.
    pub name: &'static str,
    /// Whether it is within its limit.
    pub status: Status,
    /// The measured value, with its limit.
    pub measured: String,
    /// The results that it invalidates if it does not pass, and the remedy.
    pub invalidates: &'static str,
}

impl Finding {
    /// Creates the finding of a property that was read.
    pub(crate) fn read(name: &'static str, good: bool, measured: String, invalidates: &'static str) -> Self {
        Self { name, status: if good { Status::Pass } else { Status::Warn }, measured, invalidates }
    }

    /// Creates the finding of a property that could not be read, with the reason.
    pub(crate) fn unknown(name: &'static str, why: impl Into<String>, invalidates: &'static str) -> Self {
        Self { name, status: Status::Unknown, measured: why.into(), invalidates }
    }
}
