//! Systems whose wall clock is not set by this program.

use crate::prove::ProveError;

/// The wall clock set back; it has no values on this system.
pub(crate) struct SteppedClock {
    /// Measured change of the clock in seconds.
    pub(crate) moved_s: i64,
}

impl SteppedClock {
    pub(crate) fn set_back() -> Result<Self, ProveError> {
        Err(ProveError::Missing("it sets the wall clock only on Linux".into()))
    }
}
