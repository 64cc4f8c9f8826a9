//! Sensitivity of a comparison: two servers measured in slices, compared with whole samples in turns, next to a busy
//! processor.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sharebench_analysis::{
    Analysis, ComparisonOutcome, ComparisonVerdict, Options as AnalysisOptions, RunData, analyse,
};
use sharebench_model::{Facts, RunEvent, RunHeader, RunOutcome, TargetIdentity};
use sharebench_nfs::NfsTarget;
use sharebench_plan::ResolvedPlan;
use sharebench_target::{Target, TargetUrl};
use sharebench_tests::BusyLoop;

use crate::Failure;
use crate::engine::{execute_on, resolve};
use crate::load_server::Served;
use crate::table::{Bar, Table};

/// Service times of the two servers that differ, in microseconds: 3 %.
const SERVICE_US: [u64; 2] = [200, 206];
/// Least share of the runs that find the difference: by the answer, or by a part of the map.
const FOUND_BAR: f64 = 0.9;
/// Largest share of the runs of two equal servers that find any.
const FALSE_BAR: f64 = 0.07;
/// A tolerance below the difference in rates that [`SERVICE_US`] causes, which is less than 3 %: each request also takes
/// the time of client, network and server.
const FINE_TOLERANCE: f64 = 0.01;
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

/// What a run found.
struct Found {
    wall: Duration,
    analysis: Analysis,
    /// The same data with [`FINE_TOLERANCE`].
    fine: Analysis,
}

fn outcome(analysis: &Analysis) -> Option<ComparisonOutcome> {
    analysis.verdict.as_ref().map(|verdict| verdict.outcome)
}

/// True if the answer or a part says that the second server is slower, by whatever amount, and none that it is faster.
fn finds_slower(analysis: &Analysis) -> bool {
    let direction = answered(analysis).map(|verdict| verdict.ratio.is_some_and(|ratio| ratio.value < 1.0));
    differs(analysis) && direction != Some(false) && parts(analysis).all(|ratio| ratio < 1.0)
}

/// The verdict, if it says that the servers differ.
fn answered(analysis: &Analysis) -> Option<&ComparisonVerdict> {
    analysis.verdict.as_ref().filter(|verdict| {
        let outcome = verdict.outcome;
        verdict.differs || !matches!(outcome, ComparisonOutcome::Equal | ComparisonOutcome::Inconclusive)
    })
}

/// True if the answer or any part says that the servers differ.
fn differs(analysis: &Analysis) -> bool {
    answered(analysis).is_some() || parts(analysis).next().is_some()
}

/// The ratios of all parts.
fn parts(analysis: &Analysis) -> impl Iterator<Item = f64> {
    let comparisons = analysis.comparisons.iter();
    comparisons.flat_map(|comparison| &comparison.differences.parts).map(|part| part.typical.value)
}

impl Found {
    /// True if the answer says that the second server is slower.
    fn answers_slower(&self) -> bool {
        outcome(&self.analysis) == Some(ComparisonOutcome::Slower)
    }

    /// Rate of the second server relative to the first, and the number of rounds it is from.
    fn ratio(&self) -> (f64, f64) {
        let ratio = self.analysis.verdict.as_ref().and_then(|verdict| verdict.ratio);
        ratio.map_or((f64::NAN, 0.0), |ratio| (ratio.value, ratio.n as f64))
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

/// Prints the figures: `runs` runs of two servers that differ by 3 %, by each method, and twice as many of equal ones in
/// slices, each of them for `time`; then README's sweep to its default precision by each method.
pub fn measure(table: &mut Table, runs: usize, time: Duration) -> Result<(), Failure> {
    println!("\n### Two servers next to a busy processor: slices and whole samples\n");
    let busy = BusyLoop::start();
    let mut differing = [const { Vec::new() }; 2];
    let mut equal = Vec::new();
    let budget = format!("time_budget = '{}s'", time.as_secs());
    for run in 0..runs as u64 {
        pair_on(SERVICE_US, GRID, &budget, run, &mut differing)?;
        for same in 0..2 {
            equal.push(measure_by(&METHODS[0], [SERVICE_US[0]; 2], GRID, &budget, 1_000 + 2 * run + same)?);
        }
    }
    drop(busy);
    println!(
        "| {:<88} | {:<14} | {:>7} | {:>6} | {:>9} | {:<14} |\n|---|---|---:|---:|---:|---|",
        format!("in runs of {} s", time.as_secs()),
        "method",
        "rounds",
        "ratio",
        "sharpness",
        "bar"
    );
    for (method, differing) in METHODS.iter().zip(&differing) {
        let judged = method.name == METHODS[0].name;
        let found = differing.iter().filter(|found| finds_slower(&found.analysis)).count();
        let fine = differing.iter().filter(|found| finds_slower(&found.fine)).count();
        let answered = differing.iter().filter(|found| found.answers_slower()).count();
        let share = found as f64 / differing.len().max(1) as f64;
        let what = format!(
            "200 us against 206 us: found in {found} of {} runs, answered in {answered}; tolerance 1 %: {fine}",
            differing.len()
        );
        row(table, &what, method, differing, share, judged.then_some(Bar::AtLeast(FOUND_BAR)));
    }
    let wrong = equal.iter().filter(|found| differs(&found.analysis)).count();
    let wrong_fine = equal.iter().filter(|found| differs(&found.fine)).count();
    let share = wrong as f64 / equal.len().max(1) as f64;
    let what =
        format!("200 us twice: a difference in {wrong} of {} runs; tolerance 1 %: {wrong_fine}", equal.len());
    row(table, &what, &METHODS[0], &equal, share, Some(Bar::AtMost(FALSE_BAR)));
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
    let middle = |figure: fn(&Found) -> f64| {
        let mut figures: Vec<f64> = known.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let rounds = middle(|found| found.ratio().1);
    let ratio = middle(|found| found.ratio().0);
    let sharpness = middle(Found::sharpness) * 100.0;
    let verdict = if bar.is_some() { table.verdict(what, share, bar) } else { String::new() };
    println!(
        "| {what:<88} | {:<14} | {rounds:>7} | {ratio:>6.3} | {sharpness:>7.2} % | {verdict:<14} |",
        method.name
    );
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
        known[method].push(measure_by(&METHODS[method], service_us, grid, repeat, seed)?);
    }
    Ok(())
}

fn measure_by(
    method: &Method,
    service_us: [u64; 2],
    grid: &str,
    repeat: &str,
    seed: u64,
) -> Result<Found, Failure> {
    let [a, b] = service_us.map(|micros| Served::with_service_time("nfs", Duration::from_micros(micros), 1));
    let servers = [a?, b?];
    let [a, b] = servers.each_ref().map(Served::url);
    let lines = method.lines;
    let plan = resolve(&format!(
        "seed = {seed}\n{repeat}\n{lines}[[target]]\nname = 'a'\nurl = '{a}'\n[[target]]\nname = 'b'\nurl = '{b}'\n{grid}"
    ))?;
    run(&plan, &[a, b])
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
    let runs = [data];
    let fine = AnalysisOptions { tolerance: FINE_TOLERANCE, ..AnalysisOptions::default() };
    Ok(Found { wall, analysis: analyse(&runs, &AnalysisOptions::default()), fine: analyse(&runs, &fine) })
}
