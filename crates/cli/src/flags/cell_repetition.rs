//! The options that decide how many times a sweep or a depth study measures each cell.

use std::time::Duration;

use clap::Args;
use sharebench_model::units::parse_duration;
use sharebench_plan::{Precision, Repeat};

use super::heading;

/// Number of repetitions per cell. Without any of these options each cell is repeated until its confidence interval is
/// ±2 %, 10 to 60 times.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = heading::REPETITION)]
pub struct CellRepetitionFlags {
    /// Measure each cell exactly N times on each target.
    #[arg(long, value_name = "N", conflicts_with_all = ["precision", "quick", "time_budget"])]
    pub repetitions: Option<u32>,
    /// Repeat each cell until its 95 % confidence interval is at most ±PERCENT, 10 to 60 times [default: 2%].
    #[arg(long, value_name = "PERCENT", conflicts_with = "quick")]
    pub precision: Option<Precision>,
    /// Measure each cell 6 times, the minimum for a confidence interval.
    #[arg(long, conflicts_with = "time_budget")]
    pub quick: bool,
    /// Measure for TIME in total: each cell once, then up to 10 times, then the cells with the widest intervals. With
    /// --precision, end as soon as all intervals are narrow enough.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_budget: Option<Duration>,
}

impl CellRepetitionFlags {
    /// The fixed number of repetitions, if the options give one.
    pub fn repetitions(&self) -> Option<u32> {
        self.quick.then_some(Repeat::QUICK).or(self.repetitions)
    }
}
