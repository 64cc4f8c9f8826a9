//! The progress of a run: the state that the live view shows. Only events change it.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sharebench_engine::stress_point;
use sharebench_model::units::counted;
use sharebench_model::{Coordinates, ErrorClass, Round, RunEvent, StepResult, Verdict, axis};
use sharebench_plan::{ResolvedPlan, Work};

/// Length of the history of a target.
const MAX_HISTORY: usize = 60;

/// Progress on one target.
#[derive(Debug, Clone, Default)]
pub struct TargetProgress {
    pub name: String,
    /// Steps measured.
    pub steps: usize,
    /// Bytes per second of the last step, or since the last event of the current step.
    pub rate: Option<f64>,
    /// Operations per second, for steps without bytes.
    pub operations: Option<f64>,
    /// Median response of the last step, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the last step, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Rates in the order of time.
    pub history: VecDeque<f64>,
    /// With several ranks: bytes per second of rank 0 in the current step.
    pub of_rank_0: Option<f64>,
    /// Users and bytes per second of each finished load step.
    pub load: Vec<(u32, f64)>,
}

/// What the users of the current load step have done so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserActivity {
    /// Users that have a session.
    pub users: u64,
    /// Transactions that ended.
    pub transactions: u64,
    /// Failures.
    pub failures: u64,
}

/// The activity of the users of a load step, in the parts that the terminal colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityWords {
    /// Users that are logged on, and their transactions.
    pub users: String,
    /// Number of failures.
    pub failures: String,
    /// True if there are failures.
    pub failed: bool,
    /// Number of users after which the target's rate fell, if it fell.
    pub stress: String,
}

/// The current step.
#[derive(Debug, Clone)]
pub struct CurrentStep {
    pub target: usize,
    pub repetition: u32,
    pub coordinates: Coordinates,
    pub since: Instant,
    /// The activity of its users; none of a cell.
    pub activity: Option<UserActivity>,
    /// True once it has finished and the next one has not started.
    ended: bool,
    /// Instant, operations and bytes of the last progress event.
    seen: Option<(Instant, u64, u64)>,
}

/// Progress of one run.
///
/// It is created before the first event and takes every event in order. It never reads a target, the results database or a
/// clock: callers pass the instant of each event, so the same events at the same instants give the same display.
#[derive(Debug)]
pub struct RunProgress {
    pub targets: Vec<TargetProgress>,
    pub now: Option<CurrentStep>,
    /// Expected number of steps; rounds correct it.
    pub expected: usize,
    /// Finished steps, including those of a resumed run.
    pub done: usize,
    /// Steps that this process finished.
    pub measured: usize,
    /// True if the number of steps is known once the targets are connected.
    pub fixed: bool,
    /// End of the time budget.
    pub budget_ends: Option<Instant>,
    pub started: Instant,
    /// Failures by class.
    pub failures: BTreeMap<ErrorClass, u64>,
    /// Steps by verdict: valid, warning, invalid.
    pub verdicts: [usize; 3],
    /// Number of warnings and failures of each check.
    pub failed_checks: BTreeMap<String, usize>,
    pub warnings: usize,
    pub stopping: bool,
    /// True after the last event.
    pub ended: bool,
    /// Preparation of the current step, such as `40 of 500 files of the data set`.
    pub preparing: Option<String>,
    /// The target whose directory is being removed, and the number of entries that are gone.
    pub removing: Option<(usize, u64)>,
    /// Number of ranks. Events within a step are of rank 0 only; finished steps are of all ranks.
    pub ranks: u32,
    /// Steps of loads, which come after the cells.
    loads: usize,
    /// Warm-up and window of each load step that the plan names, in its order, once per target.
    load_windows: Vec<Duration>,
    /// Load steps that this process finished, and the time they took.
    loads_measured: (usize, Duration),
}

impl RunProgress {
    /// A run by `ranks` processes that starts at `started`; `done` steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32, started: Instant) -> Self {
        let of = |name: &str| TargetProgress { name: name.to_owned(), ..TargetProgress::default() };
        Self {
            targets: plan.targets.iter().map(|target| of(&target.name)).collect(),
            now: None,
            expected: plan.steps().least as usize,
            done,
            measured: 0,
            fixed: plan.repeat.is_fixed() && plan.search.is_none(),
            budget_ends: None,
            started,
            failures: BTreeMap::new(),
            verdicts: [0; 3],
            failed_checks: BTreeMap::new(),
            warnings: 0,
            stopping: false,
            ended: false,
            preparing: None,
            removing: None,
            ranks,
            loads: plan.loads.len() * plan.targets.len() * plan.load_repetitions() as usize,
            load_windows: load_windows(plan),
            loads_measured: (0, Duration::ZERO),
        }
    }

    /// Takes one event, which happened at `at`.
    pub fn take(&mut self, event: &RunEvent, at: Instant) {
        match event {
            RunEvent::Round(round) => self.round(*round, at),
            RunEvent::StepStarted { target, repetition, coordinates, .. } => {
                let coordinates = coordinates.clone();
                self.removing = None;
                let target = *target as usize;
                let repetition = *repetition;
                let activity = is_load(&coordinates).then(UserActivity::default);
                self.now = Some(CurrentStep {
                    target,
                    repetition,
                    coordinates,
                    since: at,
                    activity,
                    ended: false,
                    seen: None,
                });
            }
            RunEvent::Preparing { what, done, of, .. } => {
                self.preparing = Some(format!("{done} of {of} {what}"));
            }
            RunEvent::Removing { target, entries } => {
                self.preparing = None;
                self.removing = Some((*target as usize, *entries));
            }
            RunEvent::Progress { operations, bytes, transactions, failures, users, .. } => {
                let activity =
                    UserActivity { users: *users, transactions: *transactions, failures: *failures };
                if let Some(now) = self.now.as_mut().filter(|now| is_load(&now.coordinates)) {
                    now.activity = Some(activity);
                }
                self.progress(*operations, *bytes, at);
            }
            RunEvent::StepFinished(step) => self.finished(step, at),
            // Failures of all ranks are counted when the step ends.
            RunEvent::Failure { .. } if self.ranks > 1 => {}
            RunEvent::Failure { class, .. } => *self.failures.entry(*class).or_default() += 1,
            RunEvent::Warning(_) => self.warnings += 1,
            RunEvent::Finished(_) => {
                self.now = None;
                self.ended = true;
            }
            RunEvent::Started(_)
            | RunEvent::TargetReady { .. }
            | RunEvent::TargetDone { .. }
            | RunEvent::Precision(_) => {}
        }
    }

    fn round(&mut self, round: Round, at: Instant) {
        self.budget_ends = round.budget_left_ns.map(|left| at + Duration::from_nanos(left));
        // Also where the number of repetitions is fixed: a target may skip cells.
        self.expected = round.steps_before.saturating_add(round.expected_steps) as usize + self.loads;
    }

    /// Updates the rate of the current step with what was transferred since the last event.
    fn progress(&mut self, operations: u64, bytes: u64, at: Instant) {
        self.preparing = None;
        let Some(now) = &mut self.now else { return };
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

    fn finished(&mut self, step: &StepResult, at: Instant) {
        if is_load(&step.coordinates) {
            let since = self.now.as_ref().map_or(at, |now| now.since);
            self.loads_measured.0 += 1;
            self.loads_measured.1 += at.saturating_duration_since(since);
        }
        if let Some(now) = &mut self.now {
            now.ended = true;
            now.activity = None;
        }
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
            *self.failed_checks.entry(check.name.clone()).or_default() += 1;
        }
        if let Some(target) = self.targets.get_mut(step.target as usize) {
            target.steps += 1;
            target.of_rank_0 = None;
            if let Some(users) = step.coordinates.number(axis::USERS) {
                target.load.push((users as u32, step.measure.throughput().unwrap_or(0.0)));
            }
            target.operations = step.measure.operation_rate();
            let known = |quantile| Some(step.measure.response.quantile(quantile)).filter(|ns| *ns > 0);
            target.p50_ns = known(0.5);
            target.p99_ns = known(0.99);
            let counts_bytes = step.coordinates.get(axis::ENTRIES).is_none();
            match step.measure.throughput().filter(|_| counts_bytes) {
                Some(rate) => target.note(rate),
                None => target.rate = None,
            }
        }
    }

    /// What the users of the current load step do, in words; none of a cell and between steps.
    pub fn activity_words(&self) -> Option<ActivityWords> {
        let now = self.now.as_ref()?;
        let activity = now.activity?;
        let assigned = now.coordinates.number(axis::USERS).unwrap_or(0);
        // The events within a step are of rank 0, and the number of users is that of all ranks.
        let users = match self.ranks {
            1 => format!("{} of {} logged on", activity.users, counted(assigned, "user")),
            _ => format!("{} logged on", counted(activity.users, "user")),
        };
        let stress = match stress_point(&self.targets.get(now.target)?.load) {
            Some(users) => format!("stress point after {}", counted(users, "user")),
            None => "no stress point yet".to_owned(),
        };
        Some(ActivityWords {
            users: format!("{users}, {}", counted(activity.transactions, "transaction")),
            failures: counted(activity.failures, "failure"),
            failed: activity.failures > 0,
            stress,
        })
    }

    /// Time since the start of the run.
    pub fn spent(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.started)
    }

    /// Finished share of the work, from 0 to 1.
    pub fn share(&self, at: Instant) -> f64 {
        match self.budget_ends {
            Some(ends) => {
                let spent = self.spent(at);
                let left = ends.saturating_duration_since(at);
                spent.as_secs_f64() / (spent + left).as_secs_f64().max(1e-9)
            }
            None => self.done as f64 / self.expected.max(self.done).max(1) as f64,
        }
        .clamp(0.0, 1.0)
    }

    /// Estimate of the remaining seconds; none while there are too few steps.
    pub fn seconds_left(&self, at: Instant) -> Option<f64> {
        if let Some(ends) = self.budget_ends {
            return Some(ends.saturating_duration_since(at).as_secs_f64());
        }
        let left = self.expected.saturating_sub(self.done);
        if self.fixed && self.only_loads_left(left) {
            // Their windows are in the plan, so that the time left is known from the first second.
            let now = self.now.as_ref().filter(|now| is_load(&now.coordinates) && !now.ended);
            let spent = now.map_or(0.0, |now| at.saturating_duration_since(now.since).as_secs_f64());
            return Some((self.seconds_of_loads(left) - spent).max(0.0));
        }
        (self.measured >= 3).then(|| {
            let (loads_measured, loads_took) = self.loads_measured;
            let cells_measured = self.measured - loads_measured;
            // Everything that is not a load step belongs to the cells: preparing files, too.
            let cells_took = self.spent(at).saturating_sub(loads_took);
            let cell = cells_took.as_secs_f64() / cells_measured.max(1) as f64;
            let loads_left = left.min(self.loads.saturating_sub(self.loads_measured.0));
            cell * (left - loads_left) as f64 + self.seconds_of_loads(loads_left)
        })
    }

    /// True if no cell is left.
    fn only_loads_left(&self, left: usize) -> bool {
        left <= self.loads.saturating_sub(self.loads_measured.0)
    }

    /// Seconds of the last load steps: their windows, and around each what the finished ones took.
    fn seconds_of_loads(&self, left: usize) -> f64 {
        let windows = |range: &[Duration]| range.iter().sum::<Duration>().as_secs_f64();
        let (finished, ahead) = self.load_windows.split_at(self.load_windows.len().saturating_sub(left));
        let (measured, took) = self.loads_measured;
        let finished = &finished[finished.len().saturating_sub(measured)..];
        let around = (took.as_secs_f64() - windows(finished)).max(0.0) / measured.max(1) as f64;
        windows(ahead) + around * ahead.len() as f64
    }
}

/// The coordinates of a step as words: its test or workload, then its axes.
pub fn step_words(coordinates: &Coordinates) -> String {
    let mut words: Vec<String> = Vec::new();
    for (axis, value) in coordinates.iter() {
        match axis {
            axis::TEST | axis::WORKLOAD => words.insert(0, value.to_string()),
            axis => words.push(value.on_axis(axis)),
        }
    }
    words.join(", ")
}

/// Finished and expected steps, as far as their number is known.
pub fn steps_of(progress: &RunProgress) -> String {
    match (progress.fixed, progress.budget_ends) {
        (true, _) => format!("{} of {} steps", progress.done, progress.expected),
        (false, None) => format!("{} of about {} steps", progress.done, progress.expected.max(progress.done)),
        (false, Some(_)) => counted(progress.done, "step"),
    }
}

/// True for a step of virtual users.
fn is_load(coordinates: &Coordinates) -> bool {
    coordinates.get(axis::WORKLOAD).is_some()
}

/// Warm-up and window of the plan's load steps, for each repetition and target.
fn load_windows(plan: &ResolvedPlan) -> Vec<Duration> {
    let window = |work: &Work| match work {
        Work::Records(_) | Work::Metadata(_) => Duration::ZERO,
        Work::Transactions(work) => work.warm_up + work.measure,
    };
    let windows = plan.loads.iter().map(|(_, work)| window(work));
    let series: Vec<Duration> = windows.flat_map(|window| plan.targets.iter().map(move |_| window)).collect();
    series.repeat(plan.load_repetitions() as usize)
}

impl TargetProgress {
    fn note(&mut self, rate: f64) {
        self.rate = Some(rate);
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(rate);
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Value;
    use sharebench_plan::Plan;

    use super::*;

    fn finished(coordinates: Coordinates) -> RunEvent {
        RunEvent::StepFinished(Box::new(StepResult {
            index: 0,
            target: 0,
            repetition: 0,
            coordinates,
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure: sharebench_model::Measure::default(),
            checks: Vec::new().into(),
        }))
    }

    #[test]
    fn time_left_of_a_run_counts_load_steps_by_their_windows() {
        let text = "repetitions = 2\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\n\
                    tests = ['read', 'write']\n[load]\nusers = [1, 2, 4]\nwarm_up = '2s'\nmeasure = '10s'\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let begin = Instant::now();
        let mut progress = RunProgress::new(&plan, 0, 1, begin);
        let mut at = begin;
        let mut step = |progress: &mut RunProgress, coordinates: Coordinates, seconds: u64| {
            let started = RunEvent::StepStarted {
                index: 0,
                target: 0,
                repetition: 0,
                coordinates: coordinates.clone(),
            };
            progress.take(&started, at);
            at += Duration::from_secs(seconds);
            progress.take(&finished(coordinates), at);
            progress.seconds_left(at).map(f64::round)
        };
        let cell = || Coordinates::new().with(axis::TEST, Value::text("read"));
        let load = || Coordinates::new().with(axis::WORKLOAD, Value::text("office"));
        step(&mut progress, cell(), 1);
        step(&mut progress, cell(), 1);
        // One cell of a second, two repetitions of three windows of 12 s. A mean over all steps gave 7 s.
        assert_eq!(step(&mut progress, cell(), 1), Some(1.0 + 72.0));
        assert_eq!(step(&mut progress, cell(), 1), Some(72.0));
        // Laying out and removing files takes 3 s in addition to each window.
        for left in [75.0, 60.0, 45.0, 30.0, 15.0, 0.0] {
            assert_eq!(step(&mut progress, load(), 15), Some(left));
        }
    }
}
