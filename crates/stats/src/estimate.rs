//! An estimate: a number with its interval.

use serde::{Deserialize, Serialize};

/// A closed interval, `low <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Interval {
    /// The interval between two numbers, whichever is smaller.
    pub fn new(a: f64, b: f64) -> Self {
        Self { low: a.min(b), high: a.max(b) }
    }

    /// True when `value` lies inside, bounds included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// True when all of `self` lies inside `outer`.
    pub fn lies_within(self, outer: Self) -> bool {
        outer.low <= self.low && self.high <= outer.high
    }

    /// Half of the width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Both bounds moved outwards by `margin`.
    #[must_use]
    pub fn widened(self, margin: f64) -> Self {
        Self { low: self.low - margin, high: self.high + margin }
    }

    /// Both bounds through a growing function, such as `exp`.
    #[must_use]
    pub fn map(self, grow: impl Fn(f64) -> f64) -> Self {
        Self { low: grow(self.low), high: grow(self.high) }
    }
}

/// A value with its confidence interval at the requested level, if the sample is large enough for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate.
    pub value: f64,
    /// None when the sample is too small for the level.
    pub interval: Option<Interval>,
    /// Number of observations.
    pub n: usize,
}

impl Estimate {
    /// Value and interval through a growing function, such as `exp`.
    #[must_use]
    pub fn map(self, grow: impl Fn(f64) -> f64) -> Self {
        Self { value: grow(self.value), interval: self.interval.map(|i| i.map(&grow)), n: self.n }
    }

    /// The same with the interval moved outwards by `margin` on both sides.
    #[must_use]
    pub fn widened(self, margin: f64) -> Self {
        Self { interval: self.interval.map(|i| i.widened(margin)), ..self }
    }
}
