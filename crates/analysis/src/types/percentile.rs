//! One percentile of the response time.

use serde::{Deserialize, Serialize};
use sharebench_stats::Interval;

/// One percentile of the response time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The time: of the typical repetition where there are enough of them, of all together otherwise.
    pub ns: u64,
    /// Where the truth lies. Across repetitions by Hodges-Lehmann from 6 on, where each places it by itself;
    /// otherwise by what the times are worth although they queue behind each other; as if independent, and
    /// then too narrow, only for runs whose steps do not tell.
    pub interval: Option<Interval>,
    /// False when too few independent observations lie beyond it, or too many never finished: the truth may
    /// be larger.
    pub resolved: bool,
}
