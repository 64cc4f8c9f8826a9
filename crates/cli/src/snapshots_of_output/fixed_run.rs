//! Runs with fixed numbers: the steps of a plan with the results that a formula gives.

use std::time::Duration;

use sharebench_analysis::CLOCK_RESOLUTION_FACT;
use sharebench_model::units::{show_nanos, three_digits};
use sharebench_model::{
    Check, Coordinates, CpuTime, ErrorClass, Facts, Fairness, Histogram, IoBytes, LoadDetail, Measure, Part,
    Random, RateBase, RunHeader, RunOutcome, StepResult, TargetIdentity, Verdict, WireCount, axis,
};
use sharebench_plan::{
    Pace, RecordWork, ResolvedPlan, SkippedCells, StepOrder, StepPlan, Think, TransactionWork, Work,
};
use sharebench_results::{RunId, RunState, StoredRun};

use crate::run::environment::COMMAND_FACT;

/// Start of the first step: 2026-11-23 05:10:00 UTC.
const STARTED_UNIX_MS: u64 = 1_795_410_600_000;
/// Measured time of a cell.
const CELL_SECONDS: f64 = 0.25;
/// Bytes of one transaction.
const TRANSACTION_BYTES: u64 = 700_000;
/// Kinds of operations of a load: name, number per transaction, mean time in microseconds.
const OPERATIONS: [(&str, u64, f64); 5] =
    [("open", 1, 310.0), ("create", 1, 420.0), ("close", 2, 95.0), ("read", 4, 780.0), ("write", 4, 1_150.0)];

/// What the formula of a run gives. Nothing is measured, so the same formula gives the same run everywhere.
pub struct FixedResults {
    /// Number of the run.
    pub id: i64,
    /// The command that measured it.
    pub command: &'static str,
    /// Bytes per second of a target in a cell.
    pub rate: fn(&str, &Coordinates) -> f64,
    /// Largest deviation of a step from that rate, as a share.
    pub noise: fn(&Coordinates) -> f64,
    /// Mean response time of a target with a number of users.
    pub response: fn(&str, u32) -> Duration,
}

impl FixedResults {
    /// The steps of a plan with a fixed number of repetitions, in the order in which the engine measures them.
    pub fn run(&self, plan: &ResolvedPlan) -> StoredRun {
        let none = SkippedCells::default();
        let mut order = StepOrder::new(plan, &none);
        let cells: Vec<usize> = (0..plan.cells.len()).collect();
        let mut steps: Vec<StepPlan> = (0..plan.repeat.most).flat_map(|_| order.round(&cells)).collect();
        let loads = 0..plan.load_repetitions();
        steps.extend(loads.flat_map(|repetition| order.loads(repetition)));
        let mut random = Random::new(self.id.unsigned_abs(), 0);
        let steps: Vec<StepResult> = steps
            .into_iter()
            .map(|step| {
                let target = &plan.targets[step.target as usize].name;
                let measure = match &step.work {
                    Work::Records(work) => {
                        let deviation =
                            (random.unit() + random.unit() - 1.0) * (self.noise)(&step.coordinates);
                        cell(
                            work,
                            &step.coordinates,
                            (self.rate)(target, &step.coordinates) * (1.0 + deviation),
                        )
                    }
                    Work::Metadata(_) => unreachable!("no plan of these snapshots has metadata tests"),
                    Work::Transactions(work) => load(work, (self.response)(target, work.users)),
                };
                let checks = checks(&measure, &step.work);
                StepResult {
                    index: step.index,
                    target: step.target,
                    repetition: step.repetition,
                    coordinates: step.coordinates,
                    started_unix_ms: STARTED_UNIX_MS + u64::from(step.index) * 600,
                    unmeasured_ms: 0,
                    measure,
                    checks: checks.into(),
                }
            })
            .collect();
        let environment = [("cpu", "4 cores"), (CLOCK_RESOLUTION_FACT, "1"), (COMMAND_FACT, self.command)];
        let header = RunHeader {
            title: plan.title.clone(),
            started_unix_ms: STARTED_UNIX_MS,
            version: "0.0.0".to_owned(),
            plan: plan.typed.to_toml(),
            seed: plan.seed,
            steps_planned: steps.len() as u32,
            repeat: None,
            environment: facts(&environment),
            targets: plan
                .targets
                .iter()
                .map(|target| TargetIdentity { name: target.name.clone(), url: target.url.clone() })
                .collect(),
        };
        let facts = plan.targets.iter().map(|target| facts_of(&target.url)).collect();
        let state = RunState::Ended(RunOutcome::Complete);
        StoredRun { id: RunId(self.id), header, state, facts, steps }
    }
}

/// Marks the chosen steps with a warning of the hiccup meter.
pub fn warn(run: &mut StoredRun, chosen: impl Fn(&StepResult) -> bool) {
    let detail = "longest stall 31.0 ms, 2.4 % stalled: warning: medians are usable, means and tails are not; repeat on a \
                  quieter machine";
    for step in run.steps.iter_mut().filter(|step| chosen(step)) {
        step.checks.retain(|check| check.name != "hiccups");
        step.checks.push(check("hiccups", Verdict::Warning, detail.to_owned()));
    }
}

/// Lets three operations of the chosen steps time out.
pub fn fail(run: &mut StoredRun, chosen: impl Fn(&StepResult) -> bool) {
    for step in run.steps.iter_mut().filter(|step| chosen(step)) {
        step.measure.errors.insert(ErrorClass::Timeout, 3);
        step.checks.retain(|check| check.name != "errors");
        let detail = format!("3 of {} operations failed: timeout", step.measure.operations);
        step.checks.insert(0, check("errors", Verdict::Invalid, detail));
    }
}

/// The measure of a cell at `rate` bytes per second.
fn cell(work: &RecordWork, coordinates: &Coordinates, rate: f64) -> Measure {
    let record = u64::from(work.record_size);
    let operations = (rate * CELL_SECONDS / record as f64).ceil() as u64;
    let bytes = operations * record;
    let busy_ns = (bytes as f64 / rate * 1e9) as u64;
    let time = busy_ns as f64 / operations as f64 * f64::from(work.queue_depth);
    let reads = coordinates.text(axis::TEST).is_some_and(|test| test.contains("read"));
    let (read, written) = if reads { (bytes, 0) } else { (0, bytes) };
    Measure {
        window_ns: busy_ns,
        busy_ns,
        operations,
        transactions: operations,
        bytes: IoBytes { read, written },
        verified: read,
        wire: Some(WireCount {
            requests: operations,
            sent: written + operations * 120,
            received: read + operations * 90,
            payload_sent: written,
            payload_received: read,
            ..WireCount::default()
        })
        .into(),
        passes: (bytes / work.file_size).max(1),
        users_assigned: 1,
        users_reported: 1,
        response: times(time, operations),
        service: times(time, operations),
        client_cpu: CpuTime { user_ns: operations * 2_100, kernel_ns: operations * (4_000 + record / 20) },
        ..Measure::default()
    }
}

/// The measure of a closed load whose transactions take `response` on average.
fn load(work: &TransactionWork, response: Duration) -> Measure {
    let think = match &work.pace {
        Pace::Closed(Think::Constant(think)) => *think,
        _ => Duration::ZERO,
    };
    let users = u64::from(work.users);
    let seconds = work.measure.as_secs_f64();
    let of_user = (seconds / (think + response).as_secs_f64()) as u64;
    let transactions = of_user * users;
    let bytes = transactions * TRANSACTION_BYTES / 2;
    let response_ns = response.as_nanos() as f64;
    let mut fairness = Fairness::default();
    (0..users).for_each(|user| fairness.add(of_user + user % 2));
    let kinds = &work.workload.transactions;
    let transaction = |(index, name): (usize, &String)| {
        let count = transactions / kinds.len() as u64;
        let mean = response_ns * (0.6 + 0.8 * index as f64 / kinds.len() as f64);
        Part {
            count,
            bytes: count * TRANSACTION_BYTES,
            response: times(mean, count),
            service: times(mean * 0.98, count),
            lag: times(mean * 0.02, count),
            ..Part::named(name)
        }
    };
    let operation = |(name, each, micros): (&str, u64, f64)| {
        let times = times(micros * 1e3, transactions * each);
        Part { count: transactions * each, response: times.clone(), service: times, ..Part::named(name) }
    };
    Measure {
        window_ns: work.measure.as_nanos() as u64,
        busy_ns: work.measure.as_nanos() as u64,
        rate_base: RateBase::Window,
        operations: transactions * OPERATIONS.iter().map(|(_, each, _)| each).sum::<u64>(),
        transactions,
        bytes: IoBytes { read: bytes, written: bytes },
        verified: bytes,
        wire: Some(WireCount {
            requests: transactions * 12,
            sent: bytes + transactions * 1_440,
            received: bytes + transactions * 1_080,
            payload_sent: bytes,
            payload_received: bytes,
            ..WireCount::default()
        })
        .into(),
        users_assigned: work.users,
        users_reported: work.users,
        response: times(response_ns, transactions),
        service: times(response_ns * 0.98, transactions),
        lag: times(response_ns * 0.02, transactions),
        client_cpu: CpuTime { user_ns: transactions * 90_000, kernel_ns: transactions * 640_000 },
        load: LoadDetail {
            transactions: kinds.iter().map(|kind| &kind.name).enumerate().map(transaction).collect(),
            operations: OPERATIONS.into_iter().map(operation).collect(),
            fairness,
            think_ns: think.as_nanos() as u64,
            users_per_session: 1,
            ..LoadDetail::default()
        }
        .into(),
        ..Measure::default()
    }
}

/// Times with this mean: half of it is the least, and the rest is distributed exponentially.
fn times(mean_ns: f64, count: u64) -> Histogram {
    const DRAWN: u64 = 100;
    let mut times = Histogram::new();
    for k in 0..DRAWN.min(count) {
        let share = (k as f64 + 0.5) / DRAWN.min(count) as f64;
        let each = count / DRAWN.min(count) + u64::from(k < count % DRAWN.min(count));
        times.record_n((mean_ns * (0.5 - 0.5 * (1.0 - share).ln())) as u64, each);
    }
    times
}

/// The self-checks that pass, with the words of the engine.
fn checks(measure: &Measure, work: &Work) -> Vec<Check> {
    let IoBytes { read, written } = measure.bytes;
    let mut details = vec![
        ("errors", format!("none in {} operations", measure.operations)),
        (
            "bytes",
            format!(
                "application read {read} B and wrote {written} B, the wire carried {read} B and {written} B of file data"
            ),
        ),
    ];
    if read > 0 {
        details.push(("verified", format!("{read} of {read} bytes read were verified")));
    }
    match work {
        Work::Records(_) | Work::Metadata(_) => {
            details.push(("little", "rate x service time gives 1.00 of 1 in flight".to_owned()));
        }
        Work::Transactions(work) => details.push((
            "little",
            format!(
                "{} transactions/s x ({} response + {} think) account for {} of {} users (0.0 % off)",
                three_digits(measure.transaction_rate().unwrap_or_default()),
                show_nanos(measure.response.mean()),
                show_nanos(measure.load.think_ns as f64),
                work.users,
                work.users
            ),
        )),
    }
    let users = measure.users_assigned;
    details.push(("participation", format!("{users} of {users} users reported")));
    details.push(("pressure", "CPU pressure 3.1 % (limit 10.0 %)".to_owned()));
    details.push(("hiccups", "longest stall 1.25 ms, 0.0 % stalled".to_owned()));
    let passed = |(name, detail)| check(name, Verdict::Valid, detail);
    let mut checks: Vec<Check> = details.into_iter().map(passed).collect();
    checks.push(check("link", Verdict::NotKnown, "loopback has no rate".to_owned()));
    checks
}

fn check(name: &str, verdict: Verdict, detail: String) -> Check {
    Check::new(name, verdict, detail)
}

fn facts(pairs: &[(&str, &str)]) -> Facts {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What a target of that URL negotiates.
pub fn facts_of(url: &str) -> Facts {
    facts(match url.split_once("://") {
        Some(("smb", _)) => &[("dialect", "3.1.1"), ("signing", "AES-GMAC"), ("encryption", "off")],
        Some(("nfs", _)) => &[("vers", "3"), ("transport", "tcp"), ("sec", "sys")],
        Some(("ncp", _)) => &[("transport", "tcp"), ("buffer", "61440"), ("server", "SHAREBENCH 3.11")],
        _ => &[("access", "local"), ("engine", "psync"), ("file_system", "ext4")],
    })
}
