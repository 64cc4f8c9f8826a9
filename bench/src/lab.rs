//! Cost of comparisons: two large surfaces, and one pair of runs in a results database with millions of measures.

use std::process::Command;
use std::time::Instant;

use sharebench_analysis::{Options, RunData, analyse};
use sharebench_model::{
    Coordinates, CpuTime, Facts, Histogram, IoBytes, Measure, Random, RateBase, RunHeader, RunOutcome,
    StepResult, TargetIdentity, Value, axis,
};
use sharebench_results::{FinishedRun, RunId, Store, StoredRun};

use crate::Failure;
use crate::client;
use crate::machine;
use crate::sample::{Sample, cpu, peak_kib};
use crate::table::{Bar, Table};

/// Sweeps and cells of a surface: 50 file sizes by 40 record sizes.
const SWEEPS: u32 = 8;
const TEST: [&str; 1] = ["read"];
const SURFACE: (u64, u64) = (50, 40);
/// Steps per run of the large database: two targets, 25 by 20 cells, eight sweeps.
const STORED: (u64, u64) = (25, 20);
/// Limits in seconds and KiB.
const COMPARE_BAR: f64 = 1.0;
const STORE_BAR: f64 = 2.0;
const PEAK_BAR: f64 = 500.0 * 1000.0;

/// Prints the figures; `measures` is the number of steps in the database.
pub fn measure(table: &mut Table, scratch: &std::path::Path, measures: u64) -> Result<(), Failure> {
    println!("\n### Comparing\n");
    println!("| {:<60} | {:<24} | {:<12} |\n|---|---|---|", "what", "seconds (MB at most)", "bar");
    let program = std::env::current_exe()?;
    let compared = machine::on_one_cpu(|| client::run(Command::new(&program).args(["client", "surfaces"])))??;
    line(table, "two surfaces of 2000 cells x 8 sweeps, one CPU", &compared, COMPARE_BAR);
    let path = scratch.join("large.db");
    let runs = fill(&path, measures)?;
    let bytes = std::fs::metadata(&path)?.len();
    println!(
        "| {:<60} | {:<24} | {:<12} |",
        format!("store of {measures} measures in {runs} runs"),
        format!("{} MB", bytes / 1_000_000),
        ""
    );
    for (what, part) in
        [("list", "list"), ("load one run and analyse it", "show"), ("compare two of its runs", "compare")]
    {
        let mut command = Command::new(&program);
        command.args(["client", "store", part]).arg(&path);
        let sample = client::run(&mut command)?;
        line(table, &format!("{what}, of {measures} measures"), &sample, STORE_BAR);
    }
    Ok(())
}

fn line(table: &mut Table, what: &str, sample: &Sample, bar: f64) {
    let seconds = sample.wall_ns as f64 / 1e9;
    let time = table.verdict(what, seconds, Some(Bar::AtMost(bar)));
    let peak = table.verdict(&format!("peak of {what}"), sample.peak_kib as f64, Some(Bar::AtMost(PEAK_BAR)));
    let figure = format!("{seconds:.3} s ({} MB)", sample.peak_kib / 1000);
    println!("| {what:<60} | {figure:<24} | {time}; {peak} |");
}

/// Client program: times one comparison without the creation of its runs.
pub fn surfaces() -> Result<Sample, Failure> {
    let runs = [surface("surfaces", &TEST, SURFACE, 1)];
    timed(|| {
        std::hint::black_box(analyse(&runs, &Options::default()));
        Ok(())
    })
}

/// Client program: times the work of one command on a database.
pub fn store(words: &[String]) -> Result<Sample, Failure> {
    let [part, path] = words else { return Err("store wants: list|show|compare PATH".into()) };
    timed(|| {
        let store = Store::open_read_only(path)?;
        let runs = match part.as_str() {
            "list" => {
                std::hint::black_box(store.runs()?);
                return Ok(());
            }
            "show" => vec![store.last_run()?],
            _ => vec![RunId(1), store.last_run()?],
        };
        let runs =
            runs.into_iter().map(|run| Ok(data(store.load(run)?))).collect::<Result<Vec<_>, Failure>>()?;
        std::hint::black_box(analyse(&runs, &Options::default()));
        Ok(())
    })
}

fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<Sample, Failure> {
    let before = cpu();
    let started = Instant::now();
    work()?;
    let wall_ns = started.elapsed().as_nanos() as u64;
    let cpu_ns = cpu().saturating_sub(before).as_nanos() as u64;
    Ok(Sample { operations: 1, wall_ns, cpu_ns, peak_kib: peak_kib() })
}

/// Fills a database and returns the number of its runs.
fn fill(path: &std::path::Path, measures: u64) -> Result<u64, Failure> {
    let mut store = Store::open(path)?;
    let per_run = 2 * STORED.0 * STORED.1 * u64::from(SWEEPS);
    let runs = measures.div_ceil(per_run);
    for run in 0..runs {
        let RunData { header, facts, steps, .. } = surface(&format!("run {run}"), &TEST, STORED, run);
        store.add_finished(&[FinishedRun { header, facts, steps }])?;
    }
    Ok(runs)
}

pub fn data(run: StoredRun) -> RunData {
    let label = format!("{} #{}", run.header.title, run.id);
    let outcome = Some(RunOutcome::Complete);
    RunData { label, command: String::new(), header: run.header, facts: run.facts, steps: run.steps, outcome }
}

/// Creates a run of two alternating targets; large records are faster on the second one.
pub fn surface(title: &str, tests: &[&str], (files, records): (u64, u64), seed: u64) -> RunData {
    let mut random = Random::new(seed, 1);
    let mut steps = Vec::new();
    for repetition in 0..SWEEPS {
        for cell in 0..tests.len() as u64 * files * records {
            let test = cell / files / records;
            let file = cell / records % files;
            let record = cell % records;
            let coordinates = Coordinates::new()
                .with(axis::TEST, Value::text(tests[test as usize]))
                .with(axis::FILE_SIZE, Value::Bytes((file + 1) << 20))
                .with(axis::RECORD_SIZE, Value::Bytes((record + 1) << 12))
                .with(axis::QUEUE_DEPTH, Value::Count(1));
            for target in 0..2 {
                let faster = if target == 1 && record > records / 2 { 1.1 } else { 1.0 };
                let measure = cell_measure(1e8 * faster * (0.03 * random.normal()).exp(), &mut random);
                let index = steps.len() as u32;
                let coordinates = coordinates.clone();
                let started_unix_ms = 1 + u64::from(index) * 500;
                let checks = Vec::new().into();
                steps.push(StepResult {
                    index,
                    target,
                    repetition,
                    coordinates,
                    started_unix_ms,
                    unmeasured_ms: 0,
                    measure,
                    checks,
                });
            }
        }
    }
    let identity = |n: u32| TargetIdentity { name: format!("system-{n}"), url: format!("nfs://host-{n}/e") };
    let header = RunHeader {
        title: title.to_owned(),
        started_unix_ms: 1_780_000_000_000 + seed,
        version: "bench".to_owned(),
        plan: String::new(),
        seed,
        steps_planned: steps.len() as u32,
        repeat: None,
        environment: Facts::new(),
        targets: (0..2).map(identity).collect(),
    };
    let facts = vec![Facts::new(); 2];
    RunData {
        label: title.to_owned(),
        command: String::new(),
        header,
        facts,
        steps,
        outcome: Some(RunOutcome::Complete),
    }
}

fn cell_measure(rate: f64, random: &mut Random) -> Measure {
    let operations = 200;
    let read = operations << 16;
    let busy_ns = (read as f64 / rate * 1e9) as u64;
    let mut times = Histogram::new();
    for _ in 0..operations {
        times.record((busy_ns as f64 / operations as f64 * (0.2 * random.normal()).exp()) as u64);
    }
    // In the form that a results database returns.
    let times = Histogram::from_v2(&times.to_v2()).unwrap_or(times);
    Measure {
        window_ns: busy_ns,
        busy_ns,
        rate_base: RateBase::Busy,
        operations,
        transactions: operations,
        bytes: IoBytes { read, written: 0 },
        passes: 1,
        users_assigned: 1,
        users_reported: 1,
        client_cpu: CpuTime { user_ns: operations * 2_000, kernel_ns: operations * 9_000 },
        response: times.clone(),
        service: times,
        ..Measure::default()
    }
}
