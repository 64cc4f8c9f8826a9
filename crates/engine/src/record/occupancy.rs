//! What the users of a load did in the window, apart from the transactions that ended in it.

use serde::{Deserialize, Serialize};

/// Times of users in the window in addition to the transactions that ended in it; all in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the unit comes last")]
pub(crate) struct Occupancy {
    /// Thinking, as far as it lies in the window.
    pub thinking_ns: u64,
    /// In transactions that were still under way at its end, as far as they lie in the window.
    pub unfinished_ns: u64,
    /// Parts before the window of transactions that ended in it.
    pub before_ns: u64,
}

impl std::ops::AddAssign for Occupancy {
    fn add_assign(&mut self, other: Self) {
        self.thinking_ns += other.thinking_ns;
        self.unfinished_ns += other.unfinished_ns;
        self.before_ns += other.before_ns;
    }
}
