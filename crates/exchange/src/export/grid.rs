//! The cells of a run, one number each: the median over the usable repetitions.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult, Value, Verdict, axis};
use sharebench_results::StoredRun;
use sharebench_stats::median;

/// A test or workload of one target, along everything but its sizes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Block {
    /// Test or workload.
    pub test: String,
    pub target: u32,
    /// The other coordinates.
    pub rest: Coordinates,
}

/// Bytes per second at (row, column); operations per second where no bytes were moved.
pub(super) type Cells = BTreeMap<(Option<Value>, Option<Value>), f64>;

/// Every block with its cells, rows along `down` and columns along `across`.
pub(super) fn blocks(run: &StoredRun, down: &str, across: &str) -> BTreeMap<Block, Cells> {
    let mut rates: BTreeMap<Block, BTreeMap<_, Vec<f64>>> = BTreeMap::new();
    for step in run.steps.iter().filter(|step| step.verdict() != Verdict::Invalid) {
        let Some(rate) = rate(step) else { continue };
        let test = step.coordinates.get(axis::TEST).or(step.coordinates.get(axis::WORKLOAD));
        let block = Block {
            test: test.map_or_else(|| "steps".to_owned(), ToString::to_string),
            target: step.target,
            rest: step.coordinates.without(&[axis::TEST, axis::WORKLOAD, down, across]),
        };
        let at = (step.coordinates.get(down).cloned(), step.coordinates.get(across).cloned());
        rates.entry(block).or_default().entry(at).or_default().push(rate);
    }
    let medians = |cells: BTreeMap<_, Vec<f64>>| {
        cells.into_iter().filter_map(|(at, mut rates)| Some((at, median(&mut rates)?))).collect()
    };
    rates.into_iter().map(|(block, cells)| (block, medians(cells))).collect()
}

/// Bytes per second, or operations where there are none.
fn rate(step: &StepResult) -> Option<f64> {
    let bytes = step.measure.bytes.total() > 0;
    let rate = if bytes { step.measure.throughput() } else { step.measure.operation_rate() };
    rate.filter(|rate| *rate > 0.0)
}
