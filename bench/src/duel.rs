//! Sensitivity of a comparison: two servers measured in slices, compared with whole samples in turns, next to a busy
//! processor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sharebench_analysis::{Analysis, ComparisonOutcome, Options as AnalysisOptions, RunData, analyse};
use sharebench_model::{Facts, RunEvent, RunHeader, RunOutcome, TargetIdentity};
use sharebench_nfs::NfsTarget;
use sharebench_plan::ResolvedPlan;
use sharebench_target::{Target, TargetUrl};

use crate::Failure;
use crate::engine::{execute_on, resolve};
use crate::load_server::Served;
use crate::table::{Bar, Table};

/// Service times of the two servers that differ, in microseconds: 3 %.
const SERVICE_US: [u64; 2] = [200, 206];
/// Least share of the runs that find the difference.
const FOUND_BAR: f64 = 0.9;
/// Largest share of the runs of two equal servers that find any.
const FALSE_BAR: f64 = 0.07;
/// Largest wall time to the same precision, compared with whole samples.
const TIME_BAR: f64 = 1.0 / 3.0;
/// The grid of the comparison: two tests of four cells, the fewest of a region, of which a round takes about a second.
const GRID: &str = "[sweep]\nfile_sizes = ['128KiB', '512KiB']\nrecord_sizes = ['4KiB', '16KiB']\ntests = ['random-read', 'reread']\n";
/// README's sweep: the default grid.
const README_GRID: &str = "[sweep]\n";

/// One way of measuring, as lines of a plan.
struct Method {
    name: &'static str,
    lines: &'static str,
}

const METHODS: [Method; 2] = [
    Method { name: "slices", lines: "" },
    Method { name: "whole samples", lines: "slice_time = '0s'\nmin_sample_time = '200ms'\n" },
];

/// Keeps one processor busy until it is dropped.
struct BusyLoop {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl BusyLoop {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics nowhere.
            let _ = thread.join();
        }
    }
}

/// What a run found.
struct Found {
    wall: Duration,
    analysis: Analysis,
}

impl Found {
    fn outcome(&self) -> Option<ComparisonOutcome> {
        self.analysis.verdict.as_ref().map(|verdict| verdict.outcome)
    }

    /// True if the answer or any region says that the servers differ.
    fn differs(&self) -> bool {
        let answered = matches!(self.outcome(), Some(ComparisonOutcome::Faster | ComparisonOutcome::Slower));
        answered
            || self.analysis.comparisons.iter().any(|comparison| !comparison.differences.regions.is_empty())
    }

    fn sharpness(&self) -> f64 {
        self.analysis.verdict.as_ref().and_then(|verdict| verdict.sharpness).unwrap_or(f64::INFINITY)
    }

    /// Cells whose interval is as narrow as the default requires.
    fn precise(&self) -> (usize, usize) {
        let ratios = || self.analysis.sections.iter().flat_map(|section| &section.rows);
        let widths = ratios().flat_map(|row| row.ratios.iter().flatten());
        let narrow = |ratio: &&sharebench_analysis::Ratio| {
            let interval = ratio.typical.interval;
            interval.is_some_and(|interval| (interval.high / interval.low).ln() / 2.0 <= 0.02f64.ln_1p())
        };
        (widths.clone().filter(narrow).count(), widths.count())
    }
}

/// Prints the figures: `runs` runs of two servers that differ by 3 %, twice as many of equal ones, each of them for
/// `time` per method; then README's sweep to its default precision.
pub fn measure(table: &mut Table, runs: usize, time: Duration) -> Result<(), Failure> {
    println!("\n### Two servers next to a busy processor: slices and whole samples\n");
    let busy = BusyLoop::start();
    let mut differing = [const { Vec::new() }; 2];
    let mut equal = [const { Vec::new() }; 2];
    let budget = format!("time_budget = '{}s'", time.as_secs());
    for run in 0..runs {
        pair(SERVICE_US, &budget, run as u64, &mut differing)?;
        for same in 0..2 {
            pair([SERVICE_US[0]; 2], &budget, 1_000 + 2 * run as u64 + same, &mut equal)?;
        }
    }
    drop(busy);
    println!(
        "| {:<60} | {:<14} | {:>18} | {:<14} |\n|---|---|---:|---|",
        format!("in runs of {} s", time.as_secs()),
        "method",
        "median sharpness",
        "bar"
    );
    for (method, (differing, equal)) in METHODS.iter().zip(differing.iter().zip(&equal)) {
        let judged = method.name == METHODS[0].name;
        let slower =
            differing.iter().filter(|found| found.outcome() == Some(ComparisonOutcome::Slower)).count();
        let share = slower as f64 / differing.len().max(1) as f64;
        row(
            table,
            &format!("200 us against 206 us: slower in {slower} of {} runs", differing.len()),
            method,
            differing,
            share,
            judged.then_some(Bar::AtLeast(FOUND_BAR)),
        );
        let wrong = equal.iter().filter(|found| found.differs()).count();
        let share = wrong as f64 / equal.len().max(1) as f64;
        row(
            table,
            &format!("200 us twice: a difference in {wrong} of {} runs", equal.len()),
            method,
            equal,
            share,
            judged.then_some(Bar::AtMost(FALSE_BAR)),
        );
    }
    time_to_precision(table)
}

/// The wall time of README's sweep, on two servers without a service time.
fn time_to_precision(table: &mut Table) -> Result<(), Failure> {
    println!("\n### README's sweep until each interval is ±2 %\n");
    println!(
        "| {:<14} | {:>8} | {:>16} | {:>10} | {:<14} |\n|---|---:|---:|---:|---|",
        "method", "wall s", "precise cells", "sharpness", "bar"
    );
    let mut known = [const { Vec::new() }; 2];
    pair_on([0; 2], README_GRID, "precision = '2%'", 7, &mut known)?;
    let wall = |known: &[Found]| known.iter().map(|found| found.wall.as_secs_f64()).sum::<f64>();
    let slices = wall(&known[0]);
    let whole = wall(&known[1]);
    for (method, known) in METHODS.iter().zip(&known) {
        let ratio = slices / whole;
        let judged = (method.name == METHODS[0].name).then_some(Bar::AtMost(TIME_BAR));
        let verdict = if judged.is_some() {
            table.verdict("README's sweep: wall time to ±2 %", ratio, judged)
        } else {
            String::new()
        };
        let (precise, of) = known.first().map_or((0, 0), Found::precise);
        let sharpness = known.first().map_or(f64::NAN, Found::sharpness) * 100.0;
        println!(
            "| {:<14} | {:>8.1} | {:>16} | {:>8.1} % | {verdict:<14} |",
            method.name,
            wall(known),
            format!("{precise} of {of}"),
            sharpness
        );
    }
    Ok(())
}

fn row(table: &mut Table, what: &str, method: &Method, known: &[Found], share: f64, bar: Option<Bar>) {
    let mut sharpness: Vec<f64> = known.iter().map(Found::sharpness).collect();
    sharpness.sort_by(f64::total_cmp);
    let middle = sharpness.get(sharpness.len() / 2).map_or(f64::NAN, |share| share * 100.0);
    let verdict = if bar.is_some() { table.verdict(what, share, bar) } else { String::new() };
    println!("| {what:<60} | {:<14} | {:>18} | {verdict:<14} |", method.name, format!("{middle:.2} %"));
}

fn pair(service_us: [u64; 2], repeat: &str, seed: u64, known: &mut [Vec<Found>; 2]) -> Result<(), Failure> {
    pair_on(service_us, GRID, repeat, seed, known)
}

/// Measures two servers once by each method; which method is first changes with the seed.
fn pair_on(
    service_us: [u64; 2],
    grid: &str,
    repeat: &str,
    seed: u64,
    known: &mut [Vec<Found>; 2],
) -> Result<(), Failure> {
    let first = seed as usize % 2;
    for method in [first, 1 - first] {
        let [a, b] = service_us.map(|micros| Served::with_service_time("nfs", Duration::from_micros(micros)));
        let servers = [a?, b?];
        let lines = METHODS[method].lines;
        let [a, b] = servers.each_ref().map(Served::url);
        let plan = resolve(&format!(
            "seed = {seed}\n{repeat}\n{lines}[[target]]\nname = 'a'\nurl = '{a}'\n[[target]]\nname = 'b'\nurl = '{b}'\n{grid}"
        ))?;
        known[method].push(run(&plan, &[a, b])?);
    }
    Ok(())
}

fn run(plan: &ResolvedPlan, urls: &[String]) -> Result<Found, Failure> {
    let mut targets: Vec<Arc<dyn Target>> = Vec::new();
    for url in urls {
        targets.push(Arc::new(NfsTarget::from_url(TargetUrl::parse(url)?)?));
    }
    let (events, received) = mpsc::channel();
    let start = Instant::now();
    execute_on(plan, &targets, &events)?;
    let wall = start.elapsed();
    let steps = received.try_iter().filter_map(|event| match event {
        RunEvent::StepFinished(step) => Some(*step),
        _ => None,
    });
    let identity = |target: &sharebench_plan::PlannedTarget| TargetIdentity {
        name: target.name.clone(),
        url: target.url.clone(),
    };
    let header = RunHeader {
        title: "duel".into(),
        started_unix_ms: 0,
        version: "bench".into(),
        plan: plan.typed.to_toml(),
        seed: plan.seed,
        steps_planned: 0,
        repeat: None,
        environment: Facts::new(),
        targets: plan.targets.iter().map(identity).collect(),
    };
    let data = RunData {
        label: "duel".into(),
        command: String::new(),
        header,
        facts: vec![Facts::new(); urls.len()],
        steps: steps.collect(),
        outcome: Some(RunOutcome::Complete),
    };
    Ok(Found { wall, analysis: analyse(&[data], &AnalysisOptions::default()) })
}
