//! The memory that an analysis needs for each step: what is allocated while runs are loaded and analysed.

#![expect(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]

mod counting;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use counting::{live, peak, restart};

use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_model::{
    Check, Coordinates, CpuTime, Evidence, Facts, Histogram, IMPORTED, IoBytes, JobShare, Measure,
    ORIGIN_FACT, PolicyCount, RateBase, ResponseSampleSize, RunHeader, RunOutcome, StepResult,
    TargetIdentity, Value, Verdict, WireCount, axis,
};
use sharebench_results::{FinishedRun, RunId, Store};

/// Bytes that a step may cost: one of an imported table, and one that was measured with all evidence and a warning whose
/// text no other step has.
const MAX_IMPORTED_BYTES: usize = 870;
const MAX_MEASURED_BYTES: usize = 1070;
/// Repetitions of a measured cell.
const REPETITIONS: u32 = 8;

/// One test at a time: all of them share the counts.
static ALONE: Mutex<()> = Mutex::new(());

/// A results database, removed when dropped.
struct Database(PathBuf);

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn database(name: &str, run: FinishedRun) -> Database {
    let file = std::env::temp_dir().join(format!("sharebench-memory-{name}-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&file);
    Store::open(&file).unwrap().add_finished(&[run]).unwrap();
    Database(file)
}

fn header(targets: u32, is_imported: bool) -> RunHeader {
    let origin = Facts::from([(ORIGIN_FACT.to_owned(), IMPORTED.to_owned())]);
    RunHeader {
        title: "memory".to_owned(),
        started_unix_ms: 1_780_000_000_000,
        version: "test".to_owned(),
        plan: String::new(),
        seed: 1,
        steps_planned: 0,
        repeat: None,
        environment: if is_imported { origin } else { Facts::new() },
        targets: (0..targets)
            .map(|n| TargetIdentity { name: format!("nas-{n}"), url: format!("nfs://nas-{n}/e") })
            .collect(),
    }
}

fn cell(number: u32) -> Coordinates {
    Coordinates::new()
        .with(axis::TEST, Value::text("read"))
        .with(axis::FILE_SIZE, Value::Bytes(u64::from(1 + number / 32) << 20))
        .with(axis::RECORD_SIZE, Value::Bytes(u64::from(1 + number % 32) << 12))
}

fn step(index: u32, target: u32, repetition: u32, coordinates: Coordinates, measure: Measure) -> StepResult {
    let started_unix_ms = 1_780_000_000_000 + u64::from(index) * 500;
    let checks = Vec::new().into();
    StepResult { index, target, repetition, coordinates, started_unix_ms, unmeasured_ms: 20, measure, checks }
}

/// A table of one position per row.
fn imported(steps: u32) -> FinishedRun {
    let measure = |number: u32| Measure {
        window_ns: 1_000_000_000,
        busy_ns: 1_000_000_000,
        rate_base: RateBase::Reported { milli: 100_000_000_000 + u64::from(number * 7_919 % 5_003) * 1000 },
        operations: 1000,
        transactions: 1000,
        bytes: IoBytes { read: 1 << 27, written: 0 },
        users_assigned: 1,
        users_reported: 1,
        ..Measure::default()
    };
    let steps = (0..steps).map(|number| step(number, 0, 0, cell(number), measure(number))).collect();
    FinishedRun { header: header(1, true), facts: vec![Facts::new()], steps }
}

/// A sweep of two targets with everything that the program itself measures.
fn measured(steps: u32) -> FinishedRun {
    let cells = steps / 2 / REPETITIONS;
    let result = |index: u32| {
        let target = index % 2;
        let number = index / 2 % cells;
        let noise = u64::from(index * 7_919 % 1_009);
        let operations = 200;
        let mut service = Histogram::new();
        (0..operations).for_each(|n| service.record(100_000 + noise * 10 + n * 37));
        // Bytes take a hundredth of the memory of the array that counts.
        let service = Histogram::from_v2(&service.to_v2()).unwrap();
        let read = operations << 16;
        let wire = WireCount {
            requests: operations,
            payload_received: read,
            received: read,
            ..WireCount::default()
        };
        let worth =
            |quantile| ResponseSampleSize { quantile, n: 150.0, degrees_of_freedom: 30.0 + noise as f64 };
        let evidence = Evidence {
            sent: PolicyCount { unbuffered: operations, ..PolicyCount::default() },
            flush_ns: noise,
            ..Evidence::default()
        };
        let measure = Measure {
            window_ns: 100_000_000 + noise * 10_000,
            busy_ns: 100_000_000 + noise * 10_000,
            operations,
            transactions: operations,
            bytes: IoBytes { read, written: 0 },
            verified: read,
            wire: Some(wire).into(),
            passes: 1,
            users_assigned: 1,
            users_reported: 1,
            shares: vec![JobShare { bytes: read, operations, passes: 1, worked_ns: noise }].into(),
            response: service.clone(),
            response_sample_size: [0.5, 0.9, 0.99].map(worth).to_vec().into(),
            service,
            client_cpu: CpuTime { user_ns: operations * 2_000 + noise, kernel_ns: operations * 9_000 },
            evidence: evidence.into(),
            ..Measure::default()
        };
        let passed =
            |name: &str| Check::new(name, Verdict::Valid, format!("{name}: {noise} is within the limits"));
        let names = ["bytes", "ceiling", "threads", "hiccups", "clock", "timer", "steady", "client-cache"];
        let mut checks: Vec<Check> = names.map(passed).to_vec();
        checks.push(Check::new("little", Verdict::Warning, format!("N is 3, X*R is 2.{noise}")));
        let result = step(index, target, index / 2 / cells, cell(number), measure);
        StepResult { checks: checks.into(), ..result }
    };
    let steps = (0..steps).map(result).collect();
    FinishedRun { header: header(2, false), facts: vec![Facts::new(); 2], steps }
}

/// Loads and analyses the run; returns the analysis and the peak of allocated bytes meanwhile.
fn analysed(database: &Database) -> (Analysis, usize) {
    restart();
    let before = live();
    let store = Store::open_read_only(&database.0).unwrap();
    let (run, histograms) = store.load_compact(RunId(1), None).unwrap();
    let data = RunData {
        label: String::new(),
        command: String::new(),
        header: run.header,
        facts: run.facts,
        steps: run.steps,
        outcome: Some(RunOutcome::Complete),
    };
    let analysis = analyse(&[data], &Options::default());
    assert!(histograms.failure().is_none());
    (analysis, peak() - before)
}

/// Numbers of steps: lists grow by doubling, so they are powers of two. With the smaller number, the search for regions
/// has as many of them as it can have, so that its memory is the same with both.
const FEW: u32 = 8192;
const MANY: u32 = 16384;

fn bytes_per_step(name: &str, run: fn(u32) -> FinishedRun) -> usize {
    let few = analysed(&database(name, run(FEW))).1;
    let (analysis, many) = analysed(&database(name, run(MANY)));
    let rows: usize = analysis.sections.iter().map(|section| section.rows.len()).sum();
    assert!(rows >= (MANY / 2 / REPETITIONS) as usize, "{rows}");
    (many - few) / (MANY - FEW) as usize
}

#[test]
fn a_step_costs_little_memory_from_loading_to_the_analysis() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let imported = bytes_per_step("imported", imported);
    let measured = bytes_per_step("measured", measured);
    println!("bytes per step: {imported} imported, {measured} measured");
    assert!(imported <= MAX_IMPORTED_BYTES && measured <= MAX_MEASURED_BYTES, "{imported}, {measured}");
}

/// One histogram for every key, and the number of reads.
#[derive(Debug)]
struct Archive(Vec<u8>, AtomicUsize);

impl sharebench_model::HistogramArchive for Archive {
    fn read(&self, keys: &[u64]) -> Vec<Option<Vec<u8>>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        vec![Some(self.0.clone()); keys.len()]
    }
}

/// An archive's histograms are read once per cell, and not once per step and percentile.
#[test]
fn the_histograms_of_a_cell_are_read_in_one_call() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut run = measured(64 * 2 * REPETITIONS);
    let bytes = run.steps[0].measure.response.to_v2();
    let archive = Arc::new(Archive(bytes.clone(), AtomicUsize::new(0)));
    let kept: Arc<dyn sharebench_model::HistogramArchive> = Arc::clone(&archive) as _;
    for step in &mut run.steps {
        let times = Histogram::archived_v2(&bytes, &kept, u64::from(step.index)).unwrap();
        (step.measure.response, step.measure.service) = (times.clone(), times);
    }
    let data = RunData {
        label: String::new(),
        command: String::new(),
        header: run.header,
        facts: run.facts,
        steps: run.steps,
        outcome: Some(RunOutcome::Complete),
    };
    // Without percentile curves, which are kept of small comparisons alone.
    analyse(&[data], &Options { curves: 0, ..Options::default() });
    assert_eq!(archive.1.load(Ordering::Relaxed), 64 * 2, "one call per cell and target");
}
