//! The ratio of two systems at one position, and its verdict.

use serde::{Deserialize, Serialize};
use sharebench_stats::{Estimate, Interval};

/// The verdict on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioVerdict {
    /// The whole interval is above the tolerance.
    Faster,
    /// The whole interval is below the tolerance.
    Slower,
    /// The whole interval is within the tolerance.
    AboutTheSame,
    /// Anything else.
    NotResolved,
}

impl RatioVerdict {
    /// The verdict on a log ratio, with `tolerance` as a share (0.02).
    pub fn new(log_ratio: &Estimate, tolerance: f64) -> Self {
        let edge = tolerance.ln_1p();
        match log_ratio.interval {
            Some(interval) if interval.low > edge => Self::Faster,
            Some(interval) if interval.high < -edge => Self::Slower,
            Some(interval) if interval.lies_within(Interval::new(-edge, edge)) => Self::AboutTheSame,
            _ => Self::NotResolved,
        }
    }

    /// Whether a verdict on typical rates may be stated where stalls decide. `work` is the log ratio of all work over all time: an
    /// equal verdict needs its whole interval within the tolerance, a direction only that it is not excluded, because these
    /// intervals are wide.
    pub(crate) fn holds_for_all_work(self, work: &Estimate, tolerance: f64) -> bool {
        let edge = tolerance.ln_1p();
        let range = work.interval.unwrap_or(Interval::new(work.value, work.value));
        match self {
            Self::Faster => range.high > edge,
            Self::Slower => range.low < -edge,
            Self::AboutTheSame => range.lies_within(Interval::new(-edge, edge)),
            Self::NotResolved => true,
        }
    }

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::AboutTheSame => "about the same",
            Self::NotResolved => "not resolved",
        }
    }
}

/// What keeps a ratio from being resolved, and so what would settle it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// Too few repetitions.
    Repetitions,
    /// The repetitions scatter so much that more of them than are practical would be needed.
    Noise,
    /// The resolution of the clocks, which no repetition narrows.
    Clock,
    /// The interval is narrow, and the edge of the tolerance lies within it.
    Edge,
    /// Stalls decide: the typical rates support a verdict that all work over all time does not.
    Stalls,
}

/// How the repetitions of two systems were paired, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// Paired repetitions of one interleaved run: drift affects both.
    Interleaved,
    /// Several repetitions each, but one after the other or in different runs: drift is not excluded.
    NotInterleaved,
    /// One repetition at least on one side: no interval at all.
    SingleRun,
}

impl Pairing {
    /// The caveat of a sentence; empty for the strongest.
    pub fn caveat(self) -> &'static str {
        match self {
            Self::Interleaved => "",
            Self::NotInterleaved => "not interleaved: changes over time are not excluded",
            Self::SingleRun => "single run",
        }
    }
}

/// Two systems at one position: the first's rate over the second's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Hodges-Lehmann of the pairs' ratios, or the ratio of medians when not interleaved.
    pub typical: Estimate,
    /// All work over all time; it differs from the typical ratio if stalls dominate.
    pub total_work: Option<Estimate>,
    /// True when the two ratios differ by more than 3 %.
    pub stalls_decide: bool,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// How the repetitions were paired.
    pub pairing: Pairing,
    /// True when the client's cache served one side at least: it compares what users see, not servers.
    pub client_cached: bool,
    /// Two-sided signed-rank p-value against no difference; interleaved pairs only.
    pub p_value: Option<f64>,
    /// Benjamini-Hochberg adjusted over the comparison's positions; only from 12 pairs on.
    pub q_value: Option<f64>,
    /// Repetitions that would probably resolve it; none when it is resolved or none would.
    pub repetitions_needed: Option<usize>,
    /// Uncertainty of single measurements; none if both sides were repeated.
    pub single_run: Option<SingleRun>,
}

/// A ratio of single measurements compared with known uncertainties. Chance is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SingleRun {
    /// Uncertainty by the clocks, as a share; two thirds where a resolution is not known, which resolves ratios above 3; none
    /// where results declared to be equal show it instead.
    pub clock_share: Option<f64>,
    /// Three robust standard deviations of results declared to be equal, as a share; none where none are.
    pub equal_share: Option<f64>,
    /// Three robust standard deviations of the side that was repeated, as a share; none where none was, or
    /// less than three times.
    pub spread_share: Option<f64>,
    /// True when the ratio is further from one than each of them.
    pub resolved: bool,
}
