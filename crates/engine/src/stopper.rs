//! Which cells still need to be measured: asked after every round, answered by widths alone (R1).

use std::collections::BTreeMap;

use sharebench_model::{CellPrecision, Measure, PrecisionReport, Standing, StepResult, Verdict};
use sharebench_plan::{ResolvedPlan, StepPlan};
use sharebench_stats::{Decision, Repetition, StoppingRule, repetitions_needed, widest_half_width};

/// Under a budget, one in so many cells takes part in a round once widths are known: the widest.
const WIDEST_SHARE: usize = 4;

/// Follows the widths of all cells. Given the same results in the same rounds it decides the same, which
/// is how an interrupted run finds its order again.
pub(crate) struct Stopper<'p> {
    plan: &'p ResolvedPlan,
    rule: StoppingRule,
    resolution_ns: f64,
    cells: Vec<CellState>,
    round: u32,
}

struct CellState {
    /// Usable repetitions per target.
    systems: Vec<BTreeMap<u32, Repetition>>,
    /// Rounds it took part in.
    rounds: usize,
    half_width: Option<f64>,
    decision: Decision,
}

impl<'p> Stopper<'p> {
    pub fn new(plan: &'p ResolvedPlan, resolution_ns: f64) -> Self {
        let repeat = plan.repeat;
        let half_width = repeat.precision.map_or(0.0, |precision| precision.share().ln_1p());
        let rule = StoppingRule { half_width, least: repeat.least as usize, most: repeat.most as usize };
        let cell = || CellState {
            systems: vec![BTreeMap::new(); plan.targets.len()],
            rounds: 0,
            half_width: None,
            decision: Decision::GoOn,
        };
        let cells = plan.cells.iter().map(|_| cell()).collect();
        Self { plan, rule, resolution_ns, cells, round: 0 }
    }

    /// Rounds ended so far.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Cells of the next round, ascending; none when every cell has enough.
    pub fn open(&self) -> Vec<usize> {
        let mut open: Vec<usize> =
            (0..self.cells.len()).filter(|cell| self.cells[*cell].decision == Decision::GoOn).collect();
        if self.plan.repeat.budget.is_some() && self.round >= self.plan.repeat.least {
            let width = |cell: &usize| self.cells[*cell].half_width.unwrap_or(0.0);
            open.sort_by(|a, b| width(b).total_cmp(&width(a)));
            open.truncate(open.len().div_ceil(WIDEST_SHARE));
            open.sort_unstable();
        }
        open
    }

    /// Takes what a step yielded; steps that are invalid or moved nothing count for no interval.
    pub fn note(&mut self, step: &StepPlan, result: &StepResult) {
        let Some(rate) = rate(&result.measure).filter(|_| result.verdict() != Verdict::Invalid) else {
            return;
        };
        let repetition = Repetition { rate, time: result.measure.base_ns() as f64 };
        self.cells[step.cell].systems[step.target as usize].insert(step.repetition, repetition);
    }

    /// Ends a round over `cells`: their widths are looked at.
    pub fn end_round(&mut self, cells: &[usize]) {
        self.round += 1;
        for &cell in cells {
            let state = &mut self.cells[cell];
            state.rounds += 1;
            if state.rounds >= self.rule.least.min(self.plan.repeat.least as usize) {
                state.half_width = widest_half_width(&state.systems, self.resolution_ns);
            }
            state.decision = self.rule.decide(state.rounds, state.half_width);
        }
    }

    /// Steps that open cells will probably still take: the width shrinks with the root of the repetitions.
    pub fn expected_steps(&self) -> u32 {
        let (least, most) = (self.rule.least, self.rule.most);
        let more = |cell: &CellState| {
            let needed = match cell.half_width {
                Some(width) if cell.rounds >= least => {
                    repetitions_needed(cell.rounds, width, self.rule.half_width).unwrap_or(most)
                }
                _ => least,
            };
            needed.clamp(cell.rounds + 1, most.max(cell.rounds + 1)) - cell.rounds
        };
        let open = self.cells.iter().filter(|cell| cell.decision == Decision::GoOn);
        let pairs: usize = open.map(more).sum();
        u32::try_from(pairs * self.plan.targets.len()).unwrap_or(u32::MAX)
    }

    /// How precisely each cell is known by now.
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
        let cells = self.cells.iter().enumerate().map(cell).collect();
        PrecisionReport { asked: self.plan.repeat.precision.map(sharebench_plan::Precision::share), cells }
    }
}

/// Bytes per second, or operations where no bytes move.
fn rate(measure: &Measure) -> Option<f64> {
    let rate = if measure.bytes.total() > 0 { measure.throughput() } else { measure.operation_rate() };
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}
