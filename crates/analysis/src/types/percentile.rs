//! One percentile of the response time.

use serde::{Deserialize, Serialize};
use sharebench_stats::Interval;

/// One percentile of the response time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The time: of the typical repetition where there are enough of them, of all together otherwise.
    pub ns: u64,
    /// Confidence interval. By Hodges-Lehmann across repetitions from 6 on, if each repetition resolves the percentile;
    /// otherwise by the effective sample size, since queued times depend on each other. Runs without effective sample
    /// sizes treat the times as independent, which makes the interval too narrow.
    pub interval: Option<Interval>,
    /// False when too few independent observations lie beyond it, or too many never finished: the truth may
    /// be larger.
    pub resolved: bool,
}
