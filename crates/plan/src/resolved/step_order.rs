//! The order of steps: rounds outermost, cells in random order by layout, targets side by side
//! (docs/measure/measurement-rules.md R1).

use std::collections::BTreeMap;

use sharebench_model::Random;

use super::plan::{Cell, ResolvedPlan, StepPlan, Work};
use super::skipped_cells::SkippedCells;

/// Streams of the seed, so that adding cells to one study does not reorder another.
const CELL_STREAM: u64 = 1;
const TARGET_STREAM: u64 = 2;

/// Lays out steps round by round. The order follows from the plan's seed and from which cells took part
/// in each round on which targets, and from nothing else: an interrupted run that is laid out again meets its steps at
/// the indices they had.
#[derive(Debug)]
pub struct StepOrder<'p> {
    plan: &'p ResolvedPlan,
    skipped: &'p SkippedCells,
    cell_order: Random,
    target_order: Random,
    round: u32,
    next: u32,
}

impl<'p> StepOrder<'p> {
    /// Before the first round. No step is laid out for `skipped` cells.
    pub fn new(plan: &'p ResolvedPlan, skipped: &'p SkippedCells) -> Self {
        let stream = |stream| Random::new(plan.seed, stream);
        Self {
            plan,
            skipped,
            cell_order: stream(CELL_STREAM),
            target_order: stream(TARGET_STREAM),
            round: 0,
            next: 0,
        }
    }

    /// The next round over `cells` (indices into [`ResolvedPlan::cells`], ascending), in random order. The
    /// targets of one cell follow each other, in random order, so that each pair shares its conditions.
    pub fn round(&mut self, cells: &[usize]) -> Vec<StepPlan> {
        let mut order = cells.to_vec();
        self.cell_order.shuffle(&mut order);
        self.keep_layouts_together(&mut order);
        let mut steps = Vec::with_capacity(order.len() * self.plan.targets.len());
        for cell in order {
            let skipped = self.skipped;
            self.on_targets(
                |target| !skipped.contains(cell, target),
                cell,
                &self.plan.cells[cell],
                self.round,
                &mut steps,
            );
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
            Work::Metadata(_) | Work::Transactions(_) => None,
        }
    }

    /// One repetition of the steps of users, in the order given (rising loads); the first follows the last round. The
    /// targets of a step follow each other in an order that is drawn anew for each step and repetition, so that each pair
    /// shares its conditions.
    pub fn loads(&mut self, repetition: u32) -> Vec<StepPlan> {
        if repetition == 0 {
            self.target_order = Random::new(self.plan.seed, TARGET_STREAM);
        }
        let mut steps = Vec::new();
        for (index, load) in self.plan.loads.iter().enumerate() {
            self.on_targets(|_| true, index, load, repetition, &mut steps);
        }
        steps
    }

    /// A further load step on every target, after [`Self::loads`] of the same repetition.
    pub fn further(&mut self, load: &Cell, repetition: u32) -> Vec<StepPlan> {
        let mut steps = Vec::new();
        self.on_targets(|_| true, self.plan.loads.len(), load, repetition, &mut steps);
        steps
    }

    /// Lays out one step on each target of `takes_part`. The order is drawn among all targets, so that it does not
    /// depend on which of them take part.
    fn on_targets(
        &mut self,
        takes_part: impl Fn(u32) -> bool,
        cell: usize,
        (coordinates, work): &Cell,
        repetition: u32,
        steps: &mut Vec<StepPlan>,
    ) {
        let mut sides: Vec<u32> = (0..self.plan.targets.len() as u32).collect();
        self.target_order.shuffle(&mut sides);
        for target in sides.into_iter().filter(|target| takes_part(*target)) {
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
        let none = SkippedCells::default();
        let mut schedule = StepOrder::new(&plan, &none);
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

    #[test]
    fn repetitions_of_a_load_repeat_the_series_and_draw_the_order_of_targets_anew() {
        let text = |repetitions: u32| {
            format!(
                "repetitions = {repetitions}\nseed = 3\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n\
                 [load]\nusers = [1, 4]\nuntil_stress = true\n"
            )
        };
        let plan = Plan::parse(&text(12)).unwrap().resolve().unwrap();
        let none = SkippedCells::default();
        let mut order = StepOrder::new(&plan, &none);
        let mut first_targets = Vec::new();
        let mut indices = Vec::new();
        for repetition in 0..plan.load_repetitions() {
            let mut steps = order.loads(repetition);
            steps.extend(order.further(&plan.loads[1], repetition));
            assert!(steps.iter().all(|step| step.repetition == repetition));
            let cells: Vec<usize> = steps.iter().map(|step| step.cell).collect();
            assert_eq!(cells, [0, 0, 1, 1, 2, 2], "the targets of a step follow each other");
            first_targets.extend(steps.iter().step_by(2).map(|step| step.target));
            indices.extend(steps.iter().map(|step| step.index));
        }
        assert!(indices.iter().copied().eq(0..indices.len() as u32));
        let second = first_targets.iter().filter(|target| **target == 1).count();
        assert!((12..=24).contains(&second), "{second} of 36 steps begin with the second target");
        let once = Plan::parse(&text(1)).unwrap().resolve().unwrap();
        let alone: Vec<u32> = StepOrder::new(&once, &none).loads(0).iter().map(|step| step.target).collect();
        assert_eq!(alone[0], first_targets[0]);
        assert_eq!(once.load_repetitions(), 1);
    }

    #[test]
    fn a_skipped_cell_has_no_step_and_the_others_keep_their_order() {
        let text = "repetitions = 1\nseed = 3\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\n\
                    file_sizes = ['64KiB']\nrecord_sizes = ['4KiB', '8KiB']\ntests = ['read', 'rewrite']\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let all: Vec<usize> = (0..plan.cells.len()).collect();
        let order = |skipped: &SkippedCells| {
            let steps = StepOrder::new(&plan, skipped).round(&all);
            assert!(steps.iter().map(|step| step.index).eq(0..steps.len() as u32));
            steps.into_iter().map(|step| (step.cell, step.target)).collect::<Vec<_>>()
        };
        let mut skipped = SkippedCells::default();
        let mut expected = order(&skipped);
        skipped.skip(1, 0);
        expected.retain(|pair| *pair != (1, 0));
        assert_eq!(order(&skipped), expected);
        assert_eq!(expected.len(), 7);
    }
}
