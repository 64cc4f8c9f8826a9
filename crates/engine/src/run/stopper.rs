//! Which cells still need to be measured: asked after every round, answered by widths alone
//! (docs/measure/measurement-rules.md R1).

use std::collections::BTreeMap;

use sharebench_model::{CellPrecision, PrecisionReport, Standing, StepResult, Verdict};
use sharebench_plan::{ResolvedPlan, SkippedCells, StepPlan};
use sharebench_stats::{Decision, Repetition, StoppingRule, repetitions_needed, widest_half_width};

/// Under a time budget, one in this many cells takes part in a round once widths are known: those with the widest
/// intervals.
const WIDEST_SHARE: usize = 4;

/// The stopping rule of a run's cells.
///
/// It keeps the usable repetitions of every cell and the width of its interval. After each round it decides which
/// cells are measured again. It sees rates only through widths and never which target is faster, because a rule that
/// looks at the sign or at significance would stop too early (docs/measure/measurement-rules.md 1.4). The same results in the
/// same rounds lead to the same decisions, so that a resumed run finds its order again.
pub(crate) struct Stopper<'p> {
    plan: &'p ResolvedPlan,
    rule: StoppingRule,
    resolution_ns: f64,
    cells: Vec<CellState>,
    round: u32,
}

struct CellState {
    /// The targets that measure it, ascending.
    targets: Vec<u32>,
    /// Usable repetitions of each of them.
    systems: Vec<BTreeMap<u32, Repetition>>,
    /// Rounds it took part in.
    rounds: usize,
    half_width: Option<f64>,
    decision: Decision,
}

impl<'p> Stopper<'p> {
    /// Before the first round. `skipped` cells have no repetition on their targets and wait for none.
    pub fn new(plan: &'p ResolvedPlan, skipped: &SkippedCells, resolution_ns: f64) -> Self {
        let repeat = plan.repeat;
        // Ratios are compared as logarithms, so the limit of ±2 % is one as well.
        let half_width = repeat.precision.map_or(0.0, |precision| precision.share().ln_1p());
        let rule = StoppingRule { half_width, least: repeat.least as usize, most: repeat.most as usize };
        let cell = |cell| {
            let takes_part = |target: &u32| !skipped.contains(cell, *target);
            let targets: Vec<u32> = (0..plan.targets.len() as u32).filter(takes_part).collect();
            let systems = vec![BTreeMap::new(); targets.len()];
            let decision = if targets.is_empty() { Decision::Unusable } else { Decision::Continue };
            CellState { targets, systems, rounds: 0, half_width: None, decision }
        };
        let cells = (0..plan.cells.len()).map(cell).collect();
        Self { plan, rule, resolution_ns, cells, round: 0 }
    }

    /// Number of rounds that have ended.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The cells of the next round, in ascending order; none when every cell has enough repetitions.
    pub fn open(&self) -> Vec<usize> {
        let mut open: Vec<usize> =
            (0..self.cells.len()).filter(|cell| self.cells[*cell].decision == Decision::Continue).collect();
        // With little time left, repetitions help most where the interval is widest
        // (docs/design/statistics.md, Stopping).
        if self.plan.repeat.budget.is_some() && self.round >= self.plan.repeat.least {
            let width = |cell: &usize| self.cells[*cell].half_width.unwrap_or(0.0);
            open.sort_by(|a, b| width(b).total_cmp(&width(a)));
            open.truncate(open.len().div_ceil(WIDEST_SHARE));
            // Back to the plan's order: the order of cells within a round is drawn from the seed elsewhere.
            open.sort_unstable();
        }
        open
    }

    /// Adds the result of a step. Steps that are invalid or moved nothing count towards no interval.
    pub fn note(&mut self, step: &StepPlan, result: &StepResult) {
        let Some(rate) = rate(result).filter(|_| result.verdict() != Verdict::Invalid) else {
            return;
        };
        let repetition = Repetition { rate, time: result.measure.base_ns() as f64 };
        let cell = &mut self.cells[step.cell];
        // A skipped cell has no step, so every step finds its target.
        if let Ok(system) = cell.targets.binary_search(&step.target) {
            cell.systems[system].insert(step.repetition, repetition);
        }
    }

    /// Ends a round over `cells`, computes the widths of their intervals and decides about each.
    pub fn end_round(&mut self, cells: &[usize]) {
        self.round += 1;
        for &cell in cells {
            let state = &mut self.cells[cell];
            state.rounds += 1;
            if state.rounds >= self.rule.least.min(self.plan.repeat.least as usize) {
                // The rule sees a count and a width only. A rule that sees which system leads would stop on
                // significance, which covers 75 to 78 % instead of 95 % (docs/measure/measurement-rules.md 1.4).
                state.half_width = widest_half_width(&state.systems, self.resolution_ns);
            }
            state.decision = self.rule.decide(state.rounds, state.half_width);
        }
    }

    /// Estimates the number of steps that open cells still need: the width of an interval shrinks with the root of
    /// the number of repetitions.
    pub fn expected_steps(&self) -> u32 {
        let least = self.rule.least;
        let most = self.rule.most;
        let more = |cell: &CellState| {
            let needed = match cell.half_width {
                Some(width) if cell.rounds >= least => {
                    repetitions_needed(cell.rounds, width, self.rule.half_width).unwrap_or(most)
                }
                _ => least,
            };
            (needed.clamp(cell.rounds + 1, most.max(cell.rounds + 1)) - cell.rounds) * cell.targets.len()
        };
        let open = self.cells.iter().filter(|cell| cell.decision == Decision::Continue);
        u32::try_from(open.map(more).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The precision that each cell has reached so far.
    pub fn report(&self) -> PrecisionReport {
        let cell = |(index, state): (usize, &CellState)| {
            let half_width = widest_half_width(&state.systems, self.resolution_ns);
            let standing = match half_width {
                None => Standing::Unusable,
                Some(width) if width <= self.rule.half_width => Standing::Precise,
                Some(_) => Standing::Wide,
            };
            CellPrecision {
                coordinates: self.plan.cells[index].0.clone(),
                repetitions: state.systems.iter().map(BTreeMap::len).min().unwrap_or(0) as u32,
                half_width,
                standing,
            }
        };
        let measured = self.cells.iter().enumerate().filter(|(_, state)| !state.targets.is_empty());
        let cells = measured.map(cell).collect();
        PrecisionReport { asked: self.plan.repeat.precision.map(sharebench_plan::Precision::share), cells }
    }
}

/// The rate of a step: bytes per second, or operations per second where no bytes are moved.
fn rate(step: &StepResult) -> Option<f64> {
    let measure = &step.measure;
    let rate = if step.is_rated_in_bytes() { measure.throughput() } else { measure.operation_rate() };
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Coordinates, IoBytes, Measure, Random};
    use sharebench_plan::{Plan, StepOrder};

    use super::*;

    fn plan(rule: &str) -> ResolvedPlan {
        let text = format!(
            "{rule}\nseed = 5\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]
file_sizes = ['64KiB', '128KiB', '256KiB', '512KiB']\nrecord_sizes = ['4KiB']\ntests = ['read', 'write']\n"
        );
        Plan::parse(&text).unwrap().resolve().unwrap()
    }

    /// What a step yields in a world where cell `n` has noise of `noise(n)` and both targets share drift.
    fn result(step: &StepPlan, noise: fn(usize) -> f64) -> StepResult {
        // By what is measured and not by when, so that the order of steps changes nothing.
        let draw = (step.cell as u64) << 32 | u64::from(step.repetition) << 8 | u64::from(step.target);
        let mut random = Random::new(9, draw);
        let drift = f64::from(step.repetition) * 0.01;
        let rate = 1e8 * (drift + noise(step.cell) * (random.unit() * 2.0 - 1.0)).exp();
        let bytes = IoBytes { read: 20_000_000, written: 0 };
        let busy_ns = (bytes.read as f64 * 1e9 / rate) as u64;
        let measure = Measure { busy_ns, window_ns: busy_ns, bytes, operations: 100, ..Measure::default() };
        StepResult {
            index: step.index,
            target: step.target,
            repetition: step.repetition,
            coordinates: Coordinates::new(),
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure,
            checks: Vec::new().into(),
        }
    }

    /// Runs to the end, or for `rounds`; gives the steps of each round and the report.
    fn run(
        plan: &ResolvedPlan,
        rounds: usize,
        noise: fn(usize) -> f64,
    ) -> (Vec<Vec<StepPlan>>, PrecisionReport) {
        let none = SkippedCells::default();
        let mut stopper = Stopper::new(plan, &none, 1.0);
        let mut schedule = StepOrder::new(plan, &none);
        let mut laid_out = Vec::new();
        while laid_out.len() < rounds {
            let cells = stopper.open();
            if cells.is_empty() {
                break;
            }
            let steps = schedule.round(&cells);
            assert!(stopper.expected_steps() as usize >= steps.len() || plan.repeat.budget.is_some());
            for step in &steps {
                stopper.note(step, &result(step, noise));
            }
            stopper.end_round(&cells);
            laid_out.push(steps);
        }
        (laid_out, stopper.report())
    }

    /// Half-widths near 0.6 times the noise after 10 pairs: 1 % noise is enough for 2 %, 5 % takes more
    /// pairs, 50 % never gets there.
    fn three_kinds(cell: usize) -> f64 {
        [0.01, 0.05, 0.5, 0.01][cell % 4]
    }

    #[test]
    fn quiet_cells_stop_at_ten_pairs_noisy_ones_go_on_and_hopeless_ones_hit_the_limit() {
        let plan = plan("precision = '2%'");
        let (rounds, report) = run(&plan, usize::MAX, three_kinds);
        assert_eq!(rounds.len(), 60);
        for (number, steps) in rounds.iter().enumerate() {
            let all = number < 10;
            assert_eq!(steps.len() == 2 * plan.cells.len(), all, "round {number}: {}", steps.len());
        }
        for (cell, known) in report.cells.iter().enumerate() {
            println!("cell {cell}: {} pairs, half-width {:.4}", known.repetitions, known.half_width.unwrap());
            match cell % 4 {
                0 | 3 => assert_eq!((known.repetitions, known.standing), (10, Standing::Precise)),
                1 => assert!((11..60).contains(&known.repetitions) && known.standing == Standing::Precise),
                _ => assert_eq!((known.repetitions, known.standing), (60, Standing::Wide)),
            }
        }
        let indices: Vec<u32> = rounds.iter().flatten().map(|step| step.index).collect();
        assert!(indices.iter().copied().eq(0..indices.len() as u32), "indices follow the schedule");
        let extent = plan.steps();
        assert!((extent.least..=extent.most).contains(&(indices.len() as u64)));
    }

    #[test]
    fn the_sign_of_a_difference_changes_nothing() {
        let plan = plan("");
        let sizes = |shift: f64| {
            let none = SkippedCells::default();
            let mut stopper = Stopper::new(&plan, &none, 0.0);
            let mut schedule = StepOrder::new(&plan, &none);
            let mut sizes = Vec::new();
            while !stopper.open().is_empty() {
                let cells = stopper.open();
                for step in schedule.round(&cells) {
                    let mut result = result(&step, three_kinds);
                    // One target is faster by so much in everything.
                    let factor = if step.target == 0 { shift.exp() } else { 1.0 };
                    result.measure.busy_ns = (result.measure.busy_ns as f64 * factor) as u64;
                    stopper.note(&step, &result);
                }
                stopper.end_round(&cells);
                sizes.push(cells.len());
            }
            sizes
        };
        assert_eq!(sizes(0.0), sizes(0.5));
        assert_eq!(sizes(0.0), sizes(-0.5));
    }

    #[test]
    fn the_same_results_lead_to_the_same_order() {
        let plan = plan("");
        let (whole, _) = run(&plan, usize::MAX, three_kinds);
        let (part, _) = run(&plan, 23, three_kinds);
        assert_eq!(whole[..23], part[..]);
    }

    #[test]
    fn a_budget_goes_to_the_widest_cells_once_widths_are_known() {
        let plan = plan("time_budget = '1h'");
        let (rounds, report) = run(&plan, 100, three_kinds);
        assert!(rounds[..10].iter().all(|steps| steps.len() == 16));
        assert!(rounds[10..].iter().all(|steps| steps.len() == 4), "the widest two of eight");
        let pairs = |kind: usize| report.cells[kind].repetitions;
        assert!(pairs(2) > 60 && pairs(0) == 10, "{} {}", pairs(2), pairs(0));
        let with_end =
            Plan { precision: Some("30%".parse().unwrap()), ..plan.typed.clone() }.resolve().unwrap();
        let (rounds, report) = run(&with_end, usize::MAX, three_kinds);
        assert!(rounds.len() < 60, "{}", rounds.len());
        assert_eq!(report.count(Standing::Precise), 8);
    }

    #[test]
    fn a_cell_that_yields_nothing_usable_is_given_up() {
        let plan = plan("");
        let none = SkippedCells::default();
        let mut stopper = Stopper::new(&plan, &none, 0.0);
        let mut schedule = StepOrder::new(&plan, &none);
        while !stopper.open().is_empty() {
            let cells = stopper.open();
            for step in schedule.round(&cells) {
                let mut result = result(&step, |_| 0.01);
                if step.cell == 3 && step.target == 1 {
                    result.measure = Measure::default();
                }
                stopper.note(&step, &result);
            }
            stopper.end_round(&cells);
        }
        assert_eq!(stopper.round(), 10);
        let report = stopper.report();
        assert_eq!(report.cells[3].standing, Standing::Unusable);
        assert_eq!(report.count(Standing::Precise), 7);
    }
}
