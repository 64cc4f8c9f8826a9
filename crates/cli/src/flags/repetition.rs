//! The flags that say how often cells are measured.

use std::time::Duration;

use clap::Args;
use sharebench_model::units::parse_duration;
use sharebench_plan::{Precision, Repeat};

/// How often cells are measured. Without any of these flags: until every cell's interval is ±2 %, 10 to 60 times.
#[derive(Debug, Args, Default)]
pub struct RepetitionFlags {
    /// Measure each cell so often on each target, whatever the width of its interval.
    #[arg(long, value_name = "N", conflicts_with_all = ["precision", "quick", "time"])]
    pub repetitions: Option<u32>,
    /// Repeat each cell until its 95 % interval is that narrow (±), 10 to 60 times [default: 2%].
    #[arg(long, value_name = "PERCENT", conflicts_with = "quick")]
    pub precision: Option<Precision>,
    /// 6 repetitions: the fewest that have an interval at all, which is then as wide as the 6 lie apart;
    /// nothing is repeated to narrow it.
    #[arg(long, conflicts_with = "time")]
    pub quick: bool,
    /// Spend that much time on all cells: every cell once at least, 10 times while time lasts, then those
    /// with the widest intervals; with --precision no longer than until all are that narrow.
    #[arg(long = "time-budget", id = "time", value_name = "TIME", value_parser = parse_duration)]
    pub time: Option<Duration>,
}

impl RepetitionFlags {
    /// The fixed number of repetitions, if one is asked for.
    pub fn repetitions(&self) -> Option<u32> {
        self.quick.then_some(Repeat::QUICK).or(self.repetitions)
    }
}
