//! Runs with a known truth, drawn from a seed.
#![allow(dead_code, reason = "each test program uses its own part")]

pub mod budgets;
pub mod loads;
pub mod repeated;
pub mod streams;

use std::collections::BTreeMap;

use sharebench_analysis::RunData;
use sharebench_model::{
    Check, Coordinates, CpuTime, Histogram, IoBytes, Measure, Random, RankShare, RateBase, RunHeader,
    RunOutcome, StepResult, TargetIdentity, Value, Verdict, WireCount, axis,
};
use sharebench_stats::normal_quantile;

pub const TESTS: [&str; 6] = ["write", "rewrite", "read", "reread", "random-read", "random-write"];

/// A standard normal variable (by inversion).
fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

/// A run under construction.
pub struct Synthetic {
    pub run: RunData,
    pub random: Random,
    /// Standard deviation of ln(rate) that every step has of its own.
    pub noise: f64,
    /// Standard deviation that all steps of one repetition share.
    pub drift: f64,
}

impl Synthetic {
    pub fn new(title: &str, targets: &[&str], seed: u64) -> Self {
        let identity =
            |name: &&str| TargetIdentity { name: (*name).to_owned(), url: format!("{name}://server/share") };
        let facts = |name: &&str| BTreeMap::from([("dialect".to_owned(), format!("{name} 3.1.1"))]);
        let environment = BTreeMap::from([
            ("clock_resolution_ns".to_owned(), "1".to_owned()),
            ("cpu".to_owned(), "synthetic, 2 cores".to_owned()),
        ]);
        let header = RunHeader {
            title: title.to_owned(),
            started_unix_ms: 1_780_000_000_000,
            version: "0.1.0".to_owned(),
            plan: "[sweep]\ntests = [\"write\", \"read\"]\n".to_owned(),
            seed,
            steps_planned: 0,
            repeat: None,
            environment,
            targets: targets.iter().map(identity).collect(),
        };
        let run = RunData {
            label: "7".to_owned(),
            command: "sharebench run smb-nfs.toml --seed 42".to_owned(),
            header,
            facts: targets.iter().map(facts).collect(),
            steps: Vec::new(),
            outcome: Some(RunOutcome::Complete),
        };
        Self { run, random: Random::new(seed, 0), noise: 0.02, drift: 0.03 }
    }

    /// Every position on every target, interleaved, `repetitions` times, with the rate that `truth` gives.
    pub fn sweep(
        &mut self,
        positions: &[Coordinates],
        repetitions: u32,
        truth: impl Fn(usize, &Coordinates) -> f64,
    ) {
        let targets = self.run.header.targets.len();
        for repetition in 0..repetitions {
            let shock = self.drift * normal(&mut self.random);
            for coordinates in positions {
                let first = self.random.below(targets as u64) as usize;
                for turn in 0..targets {
                    let target = (first + turn) % targets;
                    let rate =
                        truth(target, coordinates) * (shock + self.noise * normal(&mut self.random)).exp();
                    self.step(target, repetition, coordinates.clone(), rate);
                }
            }
        }
    }

    /// One step at `rate` bytes per second.
    pub fn step(&mut self, target: usize, repetition: u32, coordinates: Coordinates, rate: f64) {
        let users = coordinates.number(axis::USERS).unwrap_or(1);
        let depth = coordinates.number(axis::QUEUE_DEPTH).unwrap_or(1);
        let record = coordinates.number(axis::RECORD_SIZE).unwrap_or(100 << 10);
        let read = !coordinates.to_string().contains("write");
        let window_ns = 500_000_000u64;
        let operations = (rate * 0.5 / record as f64).ceil().max(1.0) as u64;
        let busy_ns = (operations as f64 * record as f64 / rate * 1e9) as u64;
        let mean = 1e9 * (users * depth) as f64 * record as f64 / rate;
        let response = self.times(mean, 400);
        let service = self.times(mean * 0.9, 400);
        let bytes = operations * record;
        let measure = Measure {
            window_ns,
            busy_ns,
            rate_base: RateBase::Busy,
            operations,
            transactions: operations,
            bytes: if read {
                IoBytes { read: bytes, written: 0 }
            } else {
                IoBytes { read: 0, written: bytes }
            },
            verified: if read { bytes } else { 0 },
            users_assigned: users as u32,
            users_reported: users as u32,
            lag: if users > 1 { self.times(mean * 0.01, 400) } else { Histogram::new() },
            response,
            service,
            client_cpu: CpuTime {
                user_ns: operations * 2_100,
                kernel_ns: operations * (4_000 + record / 20),
            },
            ..Measure::default()
        };
        let index = self.run.steps.len() as u32;
        self.run.header.steps_planned = index + 1;
        let started_unix_ms = self.run.header.started_unix_ms + u64::from(index) * 600;
        let target = target as u32;
        self.run.steps.push(StepResult {
            index,
            target,
            repetition,
            coordinates,
            started_unix_ms,
            unmeasured_ms: 0,
            measure,
            checks: Vec::new().into(),
        });
    }

    /// One step of the first target at `rate` bytes per second, without times of operations.
    pub fn bare_step(&mut self, repetition: u32, coordinates: Coordinates, rate: f64) {
        let bytes = rate as u64;
        let measure = Measure {
            window_ns: 1_000_000_000,
            busy_ns: 1_000_000_000,
            rate_base: RateBase::Busy,
            operations: 1000,
            bytes: IoBytes { read: bytes, written: 0 },
            ..Measure::default()
        };
        let index = self.run.steps.len() as u32;
        self.run.header.steps_planned = index + 1;
        let started_unix_ms = self.run.header.started_unix_ms + u64::from(index) * 1000;
        let checks = Vec::new().into();
        self.run.steps.push(StepResult {
            index,
            target: 0,
            repetition,
            coordinates,
            started_unix_ms,
            unmeasured_ms: 0,
            measure,
            checks,
        });
    }

    /// Makes a target a mount whose wire the system counts: `cached` gives the share that did not cross it.
    pub fn mount(&mut self, target: usize, cached: impl Fn(&Coordinates) -> f64) {
        self.run.facts[target].insert("access".to_owned(), "mounted".to_owned());
        for step in self.run.steps.iter_mut().filter(|step| step.target as usize == target) {
            let crossed = 1.0 - cached(&step.coordinates);
            let crossed = |bytes: u64| (bytes as f64 * crossed) as u64;
            let IoBytes { read, written } = step.measure.bytes;
            step.measure.wire = Some(WireCount {
                payload_received: crossed(read),
                payload_sent: crossed(written),
                ..WireCount::default()
            })
            .into();
        }
    }

    /// Says that machines called `c0`, `c1` and so on measured every step in equal parts, but `slow` did half.
    pub fn ranks(&mut self, count: u32, slow: u32) {
        for step in &mut self.run.steps {
            let measure = &mut step.measure;
            let part = |rank: u32, of: u64| of / u64::from(count) / if rank == slow { 2 } else { 1 };
            let share = |rank: u32| RankShare {
                rank,
                host: format!("c{rank}"),
                users: 2,
                users_reported: 2,
                operations: part(rank, measure.operations),
                transactions: part(rank, measure.transactions),
                bytes: IoBytes {
                    read: part(rank, measure.bytes.read),
                    written: part(rank, measure.bytes.written),
                },
                errors: 0,
                response: measure.response.clone(),
                late_ns: 40_000 + u64::from(rank) * 10_000,
                clock_error_ns: 21_000,
            };
            measure.ranks = (0..count).map(share).collect();
        }
        let found_text = "memory: most have 16 GiB, but rank 1 (c1) 8 GiB".to_owned();
        self.run.header.environment.insert("rank_differences".to_owned(), found_text);
    }

    fn times(&mut self, mean: f64, n: usize) -> Histogram {
        let mut times = Histogram::new();
        for _ in 0..n {
            let stall = if self.random.unit() < 0.004 { 20.0 } else { 1.0 };
            times.record((mean * stall * (0.3 * normal(&mut self.random) - 0.045).exp()) as u64);
        }
        times
    }

    pub fn check(&mut self, step: usize, verdict: Verdict, name: &str, detail: &str) {
        self.run.steps[step].checks.push(Check::new(name, verdict, detail));
    }
}

pub fn cell(test: &str, file_size: u64, record_size: u64) -> Coordinates {
    Coordinates::new()
        .with(axis::TEST, Value::text(test))
        .with(axis::FILE_SIZE, Value::Bytes(file_size))
        .with(axis::RECORD_SIZE, Value::Bytes(record_size))
}

/// A night of a gate: reads of 64 cells in eight repetitions, in which the largest records have `factor` times the rate
/// of the others.
pub fn night_with_large_records(seed: u64, factor: f64) -> RunData {
    let mut night = Synthetic::new("nightly", &["smb"], seed);
    night.noise = 0.004;
    night.drift = 0.0;
    let records = (0..8).flat_map(|file| (0..8).map(move |record| (1u64 << (20 + file), 4096u64 << record)));
    let cells: Vec<_> = records.map(|(file, record)| cell("read", file, record)).collect();
    night.sweep(&cells, 8, |_, at| {
        let is_large = at.get(axis::RECORD_SIZE) == Some(&Value::Bytes(4096 << 7));
        1e8 * if is_large { factor } else { 1.0 }
    });
    night.run
}

/// Files of 64 KiB * 4^k against records of 4 KiB * 4^k.
pub fn grid(tests: &[&str], files: u32, records: u32) -> Vec<Coordinates> {
    let mut cells = Vec::new();
    for test in tests {
        for file in 0..files {
            for record in 0..records {
                let file_size = 65_536u64 << (2 * file);
                let record_size = 4_096u64 << (2 * record);
                if record_size <= file_size {
                    cells.push(cell(test, file_size, record_size));
                }
            }
        }
    }
    cells
}

pub fn load(users: &[u64]) -> Vec<Coordinates> {
    let step = |n: &u64| {
        Coordinates::new()
            .with(axis::WORKLOAD, Value::text("copy-all-bidirectional"))
            .with(axis::USERS, Value::Count(*n))
    };
    users.iter().map(step).collect()
}

pub fn depths(test: &str, records: &[u64], depths: &[u64]) -> Vec<Coordinates> {
    let mut cells = Vec::new();
    for record in records {
        for depth in depths {
            cells.push(cell(test, 16 << 20, *record).with(axis::QUEUE_DEPTH, Value::Count(*depth)));
        }
    }
    cells
}

/// Rises with the record size and saturates; the second target is 12 % faster in reads above 16 KiB,
/// the third is four times as fast.
pub fn plausible(target: usize, at: &Coordinates) -> f64 {
    let record = at.number(axis::RECORD_SIZE).unwrap_or(65_536) as f64;
    let depth = at.number(axis::QUEUE_DEPTH).unwrap_or(1) as f64;
    let base = 900e6 / (1.0 + 90_000.0 / record / depth.min(8.0));
    let reads = at.text(axis::TEST).is_some_and(|test| test.contains("read"));
    match target {
        1 if reads && record > 16_384.0 => base * 1.12,
        1 if !reads => base * 0.93,
        2 => base * 4.0,
        _ => base,
    }
}

/// Grows until 30 users; the first target then declines.
pub fn plausible_load(target: usize, at: &Coordinates) -> f64 {
    let users = at.number(axis::USERS).unwrap_or(1) as f64;
    let grown = 9e6 * users / (1.0 + users / 25.0);
    if target == 0 && users > 30.0 { grown * 0.75 } else { grown * [1.0, 1.1, 1.4][target.min(2)] }
}

/// Three targets, six tests, a load and a queue-depth study, ten repetitions.
pub fn everything(seed: u64) -> RunData {
    let mut synthetic = Synthetic::new("smb against nfs on one server", &["smb", "nfs", "local"], seed);
    synthetic.sweep(&grid(&TESTS, 5, 6), 10, plausible);
    synthetic.sweep(&load(&[5, 10, 20, 30, 40, 50]), 10, plausible_load);
    synthetic.sweep(&depths("read", &[4_096, 65_536], &[1, 2, 4, 8, 16]), 10, plausible);
    synthetic.run
}

/// Reads of files of 8 to 64 MiB in random order, ten times. A file that fits `cache` is warm after a step with a file that
/// fits as well.
pub fn with_a_cache(cache: u64) -> RunData {
    let mut run = Synthetic::new("cached", &["smb"], 17);
    let mut random = Random::new(17, 4);
    let mut previous = u64::MAX;
    for repetition in 0..10 {
        let mut cells: Vec<Coordinates> = [8, 16, 32, 64]
            .iter()
            .flat_map(|size| [4096, 65_536].map(|record| cell("read", size << 20, record)))
            .collect();
        random.shuffle(&mut cells);
        for at in cells {
            let size = at.number(axis::FILE_SIZE).unwrap_or(0);
            let warm = size <= cache && previous <= cache;
            let noise = 0.04 * (random.unit() - 0.5);
            run.step(0, repetition, at, if warm { 272e6 } else { 76e6 } * f64::exp(noise));
            previous = size;
        }
    }
    run.run
}

/// Two runs of which some cells have no counterpart.
pub fn misaligned() -> [RunData; 2] {
    let mut one = Synthetic::new("one", &["a"], 1);
    one.sweep(&grid(&["read", "write"], 2, 2), 6, |_, _| 1e8);
    one.sweep(&[cell("reread", 1_000_000, 4096), cell("reread", 1_000_000, 8192)], 6, |_, _| 1e8);
    let mut other = Synthetic::new("other", &["b"], 2);
    other.sweep(&grid(&["read"], 2, 1), 6, |_, _| 1e8);
    other.sweep(&[cell("reread", 1 << 20, 4096)], 6, |_, _| 1e8);
    let deep = cell("read", 1 << 20, 4096).with(axis::QUEUE_DEPTH, Value::Count(8));
    other.sweep(&[deep], 6, |_, _| 1e8);
    [one.run, other.run]
}

/// A fall between files of 16 MiB and 32 MiB without the two states of a cache.
pub fn cliff() -> RunData {
    let mut run = Synthetic::new("cliff", &["smb"], 18);
    let cells = [8, 16, 32, 64].map(|size| cell("read", size << 20, 65_536));
    run.sweep(
        &cells,
        10,
        |_, at| if at.number(axis::FILE_SIZE).unwrap_or(0) > 16 << 20 { 76e6 } else { 272e6 },
    );
    run.run
}

/// A table of another program: printed rates of times that are whole ticks.
pub fn printed_table(title: &str, tick_s: f64, seed: u64) -> RunData {
    let mut run = Synthetic::new(title, &[title], seed);
    let mut random = Random::new(seed, 41);
    run.sweep(&grid(&["write", "read"], 3, 5), 1, |_, _| 1e6);
    for step in &mut run.run.steps {
        let ticks = 20 + random.below(300);
        let seconds = ticks as f64 * tick_s;
        step.measure.bytes.read = 1 << 24;
        step.measure.bytes.written = 0;
        let rate = (f64::from(1 << 24) / seconds).round();
        step.measure.busy_ns = (f64::from(1 << 24) / rate * 1e9) as u64;
        step.measure.rate_base = RateBase::Reported { milli: rate as u64 * 1000 };
    }
    let environment = &mut run.run.header.environment;
    environment.insert("origin".to_owned(), "imported".to_owned());
    environment.remove("clock_resolution_ns");
    run.run
}
