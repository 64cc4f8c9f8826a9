//! The status of a result.

use crate::operation::Outcome;

/// How an operation ended, by the status of either version.
pub(super) const fn outcome(status: u32) -> Outcome {
    const NOT_FOUND: u32 = 2;
    match status {
        0 => Outcome::Done,
        NOT_FOUND => Outcome::NotFound,
        status => Outcome::Failed(status),
    }
}
