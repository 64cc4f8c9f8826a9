//! The score of IO500 of a system.

use sharebench_model::Io500Phase;
use sharebench_stats::{Interval, Io500Score};

/// The score of one system, from the steps of the preset io500.
#[derive(Debug, Clone, PartialEq)]
pub struct Io500Finding {
    /// Index of the system.
    pub system: usize,
    /// The score, or the phases without a usable rate.
    pub score: Result<Io500Estimate, Vec<Io500Phase>>,
}

/// A score with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Io500Estimate {
    /// The score: GiB/s, kIOPS and their geometric mean.
    pub score: Io500Score,
    /// Interval of the total; none where a phase has none. It adds the half-widths of all phases, so that it holds however
    /// their errors depend on each other.
    pub interval: Option<Interval>,
}
