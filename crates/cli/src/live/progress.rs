//! What is known of a run under way: the state behind the live view, changed by events alone.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sharebench_model::{Coordinates, ErrorClass, Round, RunEvent, StepResult, Verdict};
use sharebench_plan::ResolvedPlan;

/// Rates that are kept for a sparkline.
const KEPT: usize = 60;

/// One target of the run.
#[derive(Debug, Clone, Default)]
pub struct TargetProgress {
    pub name: String,
    /// Steps measured.
    pub steps: usize,
    /// Bytes per second of the last step, or of the last moments of the one under way.
    pub rate: Option<f64>,
    /// Operations per second, where no bytes moved.
    pub operations: Option<f64>,
    /// Median response of the last step, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the last step, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Rates so far, the newest last.
    pub history: VecDeque<f64>,
    /// Bytes per second of rank 0 alone in the step under way, where several measure.
    pub of_rank_0: Option<f64>,
}

/// The step under way.
#[derive(Debug, Clone)]
pub struct CurrentStep {
    pub target: usize,
    pub repetition: u32,
    pub coordinates: Coordinates,
    pub since: Instant,
    /// When, operations and bytes of the last report.
    seen: Option<(Instant, u64, u64)>,
}

/// The run.
#[derive(Debug)]
pub struct RunProgress {
    pub targets: Vec<TargetProgress>,
    pub now: Option<CurrentStep>,
    /// Steps to be expected in all; corrected as widths become known.
    pub expected: usize,
    /// Steps measured, earlier ones of a resumed run included.
    pub done: usize,
    /// Steps measured by this process.
    pub measured: usize,
    /// True when the number of steps is known in advance.
    pub fixed: bool,
    /// Instant at which the time for all cells is used up.
    pub budget_ends: Option<Instant>,
    pub started: Instant,
    /// Failures that were told, by class.
    pub failures: BTreeMap<ErrorClass, u64>,
    /// Steps by verdict: held, suspicious, invalid.
    pub verdicts: [usize; 3],
    /// Checks that did not hold: how often suspicious or invalid.
    pub complaints: BTreeMap<String, usize>,
    pub warnings: usize,
    pub stopping: bool,
    /// What of the step under way is being prepared, such as `40 of 500 files of the data set`.
    pub preparing: Option<String>,
    /// How many processes measure together. What moves within a step is told by rank 0 of itself; steps that ended are
    /// of all.
    pub ranks: u32,
    /// Steps of users, which follow the cells.
    loads: usize,
}

impl RunProgress {
    /// A run of `ranks` processes, `done` of whose steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32) -> Self {
        let of = |name: &str| TargetProgress { name: name.to_owned(), ..TargetProgress::default() };
        Self {
            targets: plan.targets.iter().map(|target| of(&target.name)).collect(),
            now: None,
            expected: plan.steps().least as usize,
            done,
            measured: 0,
            fixed: plan.repeat.is_fixed() && plan.search.is_none(),
            budget_ends: None,
            started: Instant::now(),
            failures: BTreeMap::new(),
            verdicts: [0; 3],
            complaints: BTreeMap::new(),
            warnings: 0,
            stopping: false,
            preparing: None,
            ranks,
            loads: plan.loads.len() * plan.targets.len(),
        }
    }

    /// Takes one event in.
    pub fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Round(round) => self.round(*round),
            RunEvent::StepStarted { target, repetition, coordinates, .. } => {
                let coordinates = coordinates.clone();
                let (target, repetition) = (*target as usize, *repetition);
                self.now =
                    Some(CurrentStep { target, repetition, coordinates, since: Instant::now(), seen: None });
            }
            RunEvent::Preparing { what, done, of, .. } => {
                self.preparing = Some(format!("{done} of {of} {what}"));
            }
            RunEvent::Progress { operations, bytes, .. } => self.progress(*operations, *bytes),
            RunEvent::StepFinished(step) => self.finished(step),
            // Of several ranks the others' are known when the step ends.
            RunEvent::Failure { .. } if self.ranks > 1 => {}
            RunEvent::Failure { class, .. } => *self.failures.entry(*class).or_default() += 1,
            RunEvent::Warning(_) => self.warnings += 1,
            RunEvent::Finished(_) => self.now = None,
            RunEvent::Started(_)
            | RunEvent::TargetReady { .. }
            | RunEvent::TargetDone { .. }
            | RunEvent::Precision(_) => {}
        }
    }

    fn round(&mut self, round: Round) {
        self.budget_ends = round.budget_left_ns.map(|left| Instant::now() + Duration::from_nanos(left));
        if !self.fixed {
            self.expected = round.steps_before.saturating_add(round.expected_steps) as usize + self.loads;
        }
    }

    /// What moved since the last report is the rate of the moment.
    fn progress(&mut self, operations: u64, bytes: u64) {
        self.preparing = None;
        let Some(now) = &mut self.now else { return };
        let at = Instant::now();
        if let Some((before, operations_before, bytes_before)) = now.seen.replace((at, operations, bytes)) {
            let seconds = at.duration_since(before).as_secs_f64();
            let per_second = |count: u64, before: u64| count.saturating_sub(before) as f64 / seconds;
            let Some(target) = self.targets.get_mut(now.target).filter(|_| seconds > 0.0) else { return };
            if self.ranks > 1 {
                target.of_rank_0 = Some(per_second(bytes, bytes_before));
            } else {
                target.operations = Some(per_second(operations, operations_before));
                target.note(per_second(bytes, bytes_before));
            }
        }
    }

    fn finished(&mut self, step: &StepResult) {
        self.done += 1;
        self.measured += 1;
        self.preparing = None;
        self.verdicts[match step.verdict() {
            Verdict::NotKnown | Verdict::Valid => 0,
            Verdict::Warning => 1,
            Verdict::Invalid => 2,
        }] += 1;
        if self.ranks > 1 {
            for (class, count) in &step.measure.errors {
                *self.failures.entry(*class).or_default() += count;
            }
        }
        for check in step.checks.iter().filter(|check| check.verdict > Verdict::Valid) {
            *self.complaints.entry(check.name.clone()).or_default() += 1;
        }
        if let Some(target) = self.targets.get_mut(step.target as usize) {
            target.steps += 1;
            target.of_rank_0 = None;
            target.operations = step.measure.operation_rate();
            let told = |quantile| Some(step.measure.response.quantile(quantile)).filter(|ns| *ns > 0);
            (target.p50_ns, target.p99_ns) = (told(0.5), told(0.99));
            match step.measure.throughput() {
                Some(rate) => target.note(rate),
                None => target.rate = None,
            }
        }
    }

    /// Share of the work that is done, 0..1.
    pub fn share(&self) -> f64 {
        match self.budget_ends {
            Some(ends) => {
                let (spent, left) = (self.started.elapsed(), ends.saturating_duration_since(Instant::now()));
                spent.as_secs_f64() / (spent + left).as_secs_f64().max(1e-9)
            }
            None => self.done as f64 / self.expected.max(self.done).max(1) as f64,
        }
        .clamp(0.0, 1.0)
    }

    /// Seconds left, judged by the steps so far; none while there are too few.
    pub fn seconds_left(&self) -> Option<f64> {
        if let Some(ends) = self.budget_ends {
            return Some(ends.saturating_duration_since(Instant::now()).as_secs_f64());
        }
        (self.measured >= 3).then(|| {
            let each = self.started.elapsed().as_secs_f64() / self.measured as f64;
            each * self.expected.saturating_sub(self.done) as f64
        })
    }
}

impl TargetProgress {
    fn note(&mut self, rate: f64) {
        self.rate = Some(rate);
        if self.history.len() == KEPT {
            self.history.pop_front();
        }
        self.history.push_back(rate);
    }
}
