//! The order of steps: rounds outermost, cells in random order by layout, targets side by side
//! (docs/measurement-rules.md R1).

use std::collections::BTreeMap;

use sharebench_model::Random;

use super::plan::{Cell, ResolvedPlan, StepPlan, Work};

/// Streams of the seed, so that adding cells to one study does not reorder another.
const CELL_STREAM: u64 = 1;
const TARGET_STREAM: u64 = 2;

/// Lays out steps round by round. The order follows from the plan's seed and from which cells took part
/// in each round, and from nothing else: an interrupted run that is laid out again meets its steps at
/// the indices they had.
#[derive(Debug)]
pub struct StepOrder<'p> {
    plan: &'p ResolvedPlan,
    cell_order: Random,
    target_order: Random,
    round: u32,
    next: u32,
}

impl<'p> StepOrder<'p> {
    /// Before the first round.
    pub fn new(plan: &'p ResolvedPlan) -> Self {
        let stream = |stream| Random::new(plan.seed, stream);
        Self { plan, cell_order: stream(CELL_STREAM), target_order: stream(TARGET_STREAM), round: 0, next: 0 }
    }

    /// The next round over `cells` (indices into [`ResolvedPlan::cells`], ascending), in random order. The
    /// targets of one cell follow each other, in random order, so that each pair shares its conditions.
    pub fn round(&mut self, cells: &[usize]) -> Vec<StepPlan> {
        let mut order = cells.to_vec();
        self.cell_order.shuffle(&mut order);
        self.keep_layouts_together(&mut order);
        let mut steps = Vec::with_capacity(order.len() * self.plan.targets.len());
        for cell in order {
            self.on_every_target(cell, &self.plan.cells[cell], self.round, &mut steps);
        }
        self.round += 1;
        steps
    }

    /// Files are made anew when a cell needs them in other records, so the cells of one file and record size
    /// follow each other; which comes first stays random, among these as among all.
    fn keep_layouts_together(&self, order: &mut [usize]) {
        let mut first_of = BTreeMap::new();
        for (place, cell) in order.iter().enumerate() {
            first_of.entry(self.layout(*cell)).or_insert(place);
        }
        order.sort_by_key(|cell| first_of.get(&self.layout(*cell)).copied());
    }

    /// File and record size of a cell; none for steps of users.
    fn layout(&self, cell: usize) -> Option<(u64, u32)> {
        match &self.plan.cells.get(cell)?.1 {
            Work::Records(work) => Some((work.file_size, work.record_size)),
            Work::Transactions(_) => None,
        }
    }

    /// The steps of users, once each in the order given (rising loads); they follow the last round.
    pub fn loads(&mut self) -> Vec<StepPlan> {
        self.target_order = Random::new(self.plan.seed, TARGET_STREAM);
        let mut steps = Vec::new();
        for (index, load) in self.plan.loads.iter().enumerate() {
            self.on_every_target(index, load, 0, &mut steps);
        }
        steps
    }

    /// A further load step on every target, after [`Self::loads`].
    pub fn further(&mut self, load: &Cell) -> Vec<StepPlan> {
        let mut steps = Vec::new();
        self.on_every_target(self.plan.loads.len(), load, 0, &mut steps);
        steps
    }

    fn on_every_target(
        &mut self,
        cell: usize,
        (coordinates, work): &Cell,
        repetition: u32,
        steps: &mut Vec<StepPlan>,
    ) {
        let mut sides: Vec<u32> = (0..self.plan.targets.len() as u32).collect();
        self.target_order.shuffle(&mut sides);
        for target in sides {
            let coordinates = coordinates.clone();
            let work = work.clone();
            steps.push(StepPlan { index: self.next, target, repetition, cell, coordinates, work });
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    #[test]
    fn cells_of_one_layout_follow_each_other_in_random_order() {
        let text = "repetitions = 1\nseed = 3\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\n\
                    file_sizes = ['64KiB', '128KiB', '256KiB']\nrecord_sizes = ['4KiB', '8KiB']\n\
                    tests = ['rewrite', 'read', 'reread', 'random-read']\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let all: Vec<usize> = (0..plan.cells.len()).collect();
        let mut schedule = StepOrder::new(&plan);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..4 {
            let order: Vec<usize> = schedule.round(&all).chunks(2).map(|pair| pair[0].cell).collect();
            let mut layouts: Vec<_> = order.iter().map(|cell| schedule.layout(*cell)).collect();
            layouts.dedup();
            assert_eq!(layouts.len(), 6, "a layout came back: {layouts:?}");
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, all);
            seen.insert(order);
        }
        assert_eq!(seen.len(), 4, "each round has an order of its own");
    }
}
