//! The cells of a run, one number each: the median over the usable repetitions.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult, Value, Verdict, axis};
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
pub(super) type Cells = BTreeMap<CellAxes, f64>;

/// Row and column.
type CellAxes = (Option<Value>, Option<Value>);

/// The rates of a run by block and cell: the steps are added one by one, and only their rates are kept.
pub(super) struct Rates<'a> {
    down: &'a str,
    across: &'a str,
    blocks: BTreeMap<Block, BTreeMap<CellAxes, Vec<f64>>>,
}

impl<'a> Rates<'a> {
    /// Rows along `down` and columns along `across`.
    pub(super) fn new(down: &'a str, across: &'a str) -> Self {
        Self { down, across, blocks: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, step: &StepResult) {
        let Some(rate) = rate(step).filter(|_| step.verdict() != Verdict::Invalid) else { return };
        let test = step.coordinates.get(axis::TEST).or(step.coordinates.get(axis::WORKLOAD));
        let block = Block {
            test: test.map_or_else(|| "steps".to_owned(), ToString::to_string),
            target: step.target,
            rest: step.coordinates.without(&[axis::TEST, axis::WORKLOAD, self.down, self.across]),
        };
        let at = (step.coordinates.get(self.down).cloned(), step.coordinates.get(self.across).cloned());
        self.blocks.entry(block).or_default().entry(at).or_default().push(rate);
    }

    /// Every block with its cells.
    pub(super) fn blocks(self) -> BTreeMap<Block, Cells> {
        let medians = |cells: BTreeMap<_, Vec<f64>>| {
            cells.into_iter().filter_map(|(at, mut rates)| Some((at, median(&mut rates)?))).collect()
        };
        self.blocks.into_iter().map(|(block, cells)| (block, medians(cells))).collect()
    }
}

/// Bytes per second, or operations where there are none.
fn rate(step: &StepResult) -> Option<f64> {
    let bytes = step.is_rated_in_bytes();
    let rate = if bytes { step.measure.throughput() } else { step.measure.operation_rate() };
    rate.filter(|rate| *rate > 0.0)
}
