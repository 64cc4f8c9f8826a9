//! What one system delivered in a piece of time.

/// What one system delivered in a piece of time: a repetition of a cell, or an interval of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedSample {
    /// Start, seconds of the wall clock since an instant that all systems share.
    pub start_s: f64,
    /// Length on the wall clock in seconds, turns of other systems included.
    pub wall_s: f64,
    /// Time in seconds in which the system worked.
    pub busy_s: f64,
    /// What it did, in the unit of its cell.
    pub work: f64,
    /// Bytes that it moved.
    pub bytes: f64,
    /// Time in seconds that its longest operation took; 0 where it is not known.
    pub longest_s: f64,
    /// Samples with the same number have the same typical rate.
    pub cell: usize,
}

impl TimedSample {
    pub(crate) fn end_s(&self) -> f64 {
        self.start_s + self.wall_s
    }
}
