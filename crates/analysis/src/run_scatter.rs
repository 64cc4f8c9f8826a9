//! How much runs of one plan differ.

use sharebench_stats::RunSeries;

use crate::gate::tables::mean_of;
use crate::series::common_lines;
use crate::types::{RunData, RunScatter};

/// The scatter between runs of one plan, of the mean over their common tests; none for fewer than two runs, or for runs
/// without a common cell.
pub fn run_scatter(runs: &[RunData]) -> Option<RunScatter> {
    let lines = common_lines(runs).ok()?;
    let series: Vec<RunSeries> = lines.into_iter().map(|found| found.series).collect();
    let deviation = mean_of(&series).deviation()?;
    Some(RunScatter { deviation, runs: runs.len() })
}
