//! Wall time at equal precision: repetition that stops on precision beside a fixed number of repetitions, and
//! beside IOzone repeated as a whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sharebench_engine::{Clock, Run, StopSignal};
use sharebench_model::{RunEvent, StepResult, Verdict};
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_posix::PosixTarget;
use sharebench_stats::{Repetition, widest_half_width};
use sharebench_target::{Target, TargetUrl};

use crate::Failure;
use crate::matrix::{Cell, TESTS, cell_of, iozone, theirs};
use crate::table::{Bar, Table};

/// Half-width at which a cell is known well enough, as a share.
const ASKED: f64 = 0.02;
/// The others' wall time in ours, at least.
const BAR: f64 = 3.0;
/// IOzone is repeated until it has used so many times our wall time.
const PATIENCE: f64 = 4.0;
/// Least time of one of our samples, as in the matrix beside IOzone.
const SAMPLE: &str = "20ms";
/// IOzone reads a clock of microseconds, we one of nanoseconds.
const CLOCKS_NS: (f64, f64) = (1_000.0, 1.0);

/// Repetitions of one cell by their number.
type Repetitions = BTreeMap<u32, Repetition>;

/// What a contender spent, and what it knows for it.
#[derive(Default)]
struct Known {
    wall: Duration,
    cells: BTreeMap<Cell, Repetitions>,
}

impl Known {
    fn most_repetitions(&self) -> usize {
        self.cells.values().map(BTreeMap::len).max().unwrap_or(0)
    }

    fn repetitions(&self) -> usize {
        self.cells.values().map(BTreeMap::len).sum()
    }

    /// Half-widths of all cells in logarithm, ascending; infinite where there is no interval.
    fn widths(&self, clock_ns: f64) -> Vec<f64> {
        let width = |cell: &Repetitions| {
            widest_half_width(std::slice::from_ref(cell), clock_ns).unwrap_or(f64::INFINITY)
        };
        let mut widths: Vec<f64> = self.cells.values().map(width).collect();
        widths.sort_by(f64::total_cmp);
        widths
    }

    fn resolved(&self, clock_ns: f64) -> usize {
        self.widths(clock_ns).iter().filter(|width| **width <= ASKED.ln_1p()).count()
    }
}

/// Measures in memory, where no disk decides how noisy cells are.
pub fn measure(table: &mut Table, largest: &str) -> Result<(), Failure> {
    let memory = Path::new("/dev/shm").join(format!("sharebench-bench-{}", std::process::id()));
    std::fs::create_dir(&memory)?;
    let result = contest(table, &memory, largest);
    std::fs::remove_dir_all(&memory)?;
    result
}

fn contest(table: &mut Table, directory: &Path, largest: &str) -> Result<(), Failure> {
    println!(
        "\n### Wall time until ±{} % (IOzone's matrix on tmpfs, files to {largest}, one run each)\n",
        ASKED * 100.0
    );
    println!(
        "| {:<44} | {:>8} | {:>7} | {:>14} | {:>12} | {:>10} | {:<12} |",
        "contender", "wall s", "in ours", "cells resolved", "repetitions", "median ±", "bar"
    );
    println!("|---|---:|---:|---:|---:|---:|---|");
    let ours = own(directory, largest, &format!("precision = '{}%'", ASKED * 100.0))?;
    row(table, "sharebench, until each cell is precise", &ours, &ours, CLOCKS_NS.1, true);
    let fixed = own(directory, largest, &format!("repetitions = {}", ours.most_repetitions()))?;
    row(table, "sharebench, as often as the worst cell", &fixed, &ours, CLOCKS_NS.1, true);
    let Some(iozone) = iozone() else {
        println!("\nIOzone is not on this machine (Debian's non-free iozone3): its part is not judged.");
        return Ok(());
    };
    let mut its = Known::default();
    let mut by_ranks = false;
    let goal = ours.resolved(CLOCKS_NS.1);
    while its.wall < ours.wall.mul_f64(PATIENCE) {
        its.once_more(&iozone, directory, largest)?;
        if !by_ranks && its.resolved(0.0) >= goal {
            by_ranks = true;
            row(table, "IOzone as a whole, its clock believed", &its, &ours, 0.0, true);
        }
        if its.resolved(CLOCKS_NS.0) >= goal {
            row(table, "IOzone as a whole", &its, &ours, CLOCKS_NS.0, true);
            return Ok(());
        }
    }
    if !by_ranks {
        row(table, "IOzone as a whole, its clock believed", &its, &ours, 0.0, false);
    }
    row(table, "IOzone as a whole", &its, &ours, CLOCKS_NS.0, false);
    Ok(())
}

/// Prints what a contender needed; one that gave up needs at least that.
fn row(table: &mut Table, name: &str, it: &Known, ours: &Known, clock_ns: f64, reached: bool) {
    let ratio = it.wall.as_secs_f64() / ours.wall.as_secs_f64();
    let bar = (!std::ptr::eq(it, ours)).then_some(Bar::AtLeast(BAR));
    let widths = it.widths(clock_ns);
    let median = widths.get(widths.len() / 2).map_or(f64::NAN, |width| width.exp_m1() * 100.0);
    println!(
        "| {name:<44} | {:>8.1} | {:>7} | {:>14} | {:>12} | {:>10} | {:<12} |",
        it.wall.as_secs_f64(),
        format!("{}{ratio:.2}", if reached { "" } else { "> " }),
        format!("{} of {}", it.resolved(clock_ns), it.cells.len()),
        format!("{}, {}", it.most_repetitions(), it.repetitions()),
        format!("{median:.2} %"),
        table.verdict(&format!("{name}: wall time in ours"), ratio, bar),
    );
}

impl Known {
    /// IOzone's whole matrix once more.
    fn once_more(&mut self, iozone: &Path, directory: &Path, largest: &str) -> Result<(), Failure> {
        let number = self.most_repetitions() as u32;
        let start = Instant::now();
        let surface = theirs(iozone, directory, largest)?;
        self.wall += start.elapsed();
        for (cell, kib_per_s) in surface.into_iter().filter(|(_, rate)| *rate > 0.0) {
            let repetition = Repetition { rate: kib_per_s, time: cell.1 as f64 / kib_per_s * 1e9 };
            self.cells.entry(cell).or_default().insert(number, repetition);
        }
        Ok(())
    }

    fn note(&mut self, step: &StepResult) {
        let Some(cell) = cell_of(step) else { return };
        let repetitions = self.cells.entry(cell).or_default();
        if let Some(rate) = step.measure.throughput().filter(|_| step.verdict() != Verdict::Invalid) {
            let time = step.measure.base_ns() as f64;
            repetitions.insert(step.repetition, Repetition { rate, time });
        }
    }
}

fn plan(directory: &Path, largest: &str, repeat: &str) -> Result<ResolvedPlan, Failure> {
    let tests = TESTS.map(|(name, _)| format!("'{name}'")).join(", ");
    let plan = format!(
        "{repeat}\nseed = 1\nverify = 'off'\nsample = '{SAMPLE}'\n[[target]]\nurl = '{}'\n\
         [sweep]\nauto = 'full'\nfile_sizes = ['64KiB..{largest} x2']\ntests = [{tests}]\n",
        directory.display()
    );
    let plan = Plan::parse(&plan).map_err(|mistakes| mistakes.to_string())?;
    Ok(plan.resolve().map_err(|mistakes| mistakes.to_string())?)
}

/// One run of the engine over the matrix.
fn own(directory: &Path, largest: &str, repeat: &str) -> Result<Known, Failure> {
    let plan = plan(directory, largest, repeat)?;
    let url = TargetUrl::parse(&format!("file://{}", directory.display()))?;
    let targets: [Arc<dyn Target>; 1] = [Arc::new(PosixTarget::from_url(url)?)];
    let (events, received) = mpsc::channel();
    let start = Instant::now();
    let mut known = std::thread::scope(|scope| {
        // Taken as they come: the histograms of tens of thousands of steps would not be small.
        let taker = scope.spawn(move || {
            let mut known = Known::default();
            for event in received {
                if let RunEvent::StepFinished(step) = event {
                    known.note(&step);
                }
            }
            known
        });
        let run = Run {
            plan: &plan,
            targets: &targets,
            done: &[],
            directory: ".sharebench-bench",
            resumed: false,
            stop: &StopSignal::default(),
            clock: &Clock::start(),
            events: &events,
        };
        let end = run.execute();
        drop(events);
        let known = taker.join().map_err(|_| "the taker of events panicked")?;
        end?;
        Ok::<Known, Failure>(known)
    })?;
    known.wall = start.elapsed();
    Ok(known)
}
