//! Conditions under which experiments run.

use std::time::Duration;

/// Protocol between the engine and the embedded servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// NFS 3.
    #[default]
    Nfs,
    /// SMB 3.1.1.
    Smb,
}

/// Options of the known-answer tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Protocol of the embedded servers.
    pub protocol: Protocol,
    /// Halve durations and repetitions where the result stays meaningful.
    pub quick: bool,
    /// Allow K20 to set the machine's wall clock back by an hour for one second.
    pub step_clock: bool,
}

impl Conditions {
    /// Returns the duration, or half of it in a quick run.
    pub(crate) fn lasting(self, full: Duration) -> Duration {
        if self.quick { full / 2 } else { full }
    }

    /// Returns the number, or half of it in a quick run.
    pub(crate) fn times(self, full: usize) -> usize {
        if self.quick { full / 2 } else { full }
    }
}
