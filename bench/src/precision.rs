//! Wall time at equal precision: repetition until a precision is reached, compared with a fixed number of repetitions and
//! with IOzone repeated as a whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sharebench_model::units::ByteSize;
use sharebench_model::{RunEvent, StepResult, Verdict};
use sharebench_stats::{Repetition, widest_half_width};

use crate::Failure;
use crate::engine::execute;
use crate::matrix::{cell_of, iozone, plan, target, theirs};
use crate::matrix_cell::Cell;
use crate::table::{Bar, Table};

/// Minimum ratio of the opponents' wall time to ours. IOzone is not repeated for longer.
const BAR: f64 = 3.0;
/// Resolution of the clocks: microseconds in IOzone, nanoseconds in sharebench.
const CLOCKS_NS: (f64, f64) = (1_000.0, 1.0);

/// Repetitions of one cell, by number.
type Repetitions = BTreeMap<u32, Repetition>;

/// Wall time and results of a contender.
#[derive(Default)]
struct KnownPrecision {
    wall: Duration,
    /// Wall time of all repetitions of a cell including preparation; empty if the time per cell is unknown.
    spent: BTreeMap<Cell, Duration>,
    cells: BTreeMap<Cell, Repetitions>,
}

impl KnownPrecision {
    fn most_repetitions(&self) -> usize {
        self.cells.values().map(BTreeMap::len).max().unwrap_or(0)
    }

    fn repetitions(&self) -> usize {
        self.cells.values().map(BTreeMap::len).sum()
    }

    /// Returns the half-widths of all cells as logarithms, ascending; infinite without an interval.
    fn widths(&self, clock_ns: f64) -> Vec<f64> {
        let width = |cell: &Repetitions| {
            widest_half_width(std::slice::from_ref(cell), clock_ns).unwrap_or(f64::INFINITY)
        };
        let mut widths: Vec<f64> = self.cells.values().map(width).collect();
        widths.sort_by(f64::total_cmp);
        widths
    }

    fn resolved(&self, clock_ns: f64, asked: f64) -> usize {
        self.widths(clock_ns).iter().filter(|width| **width <= asked.ln_1p()).count()
    }

    /// Returns the wall time if every cell were repeated as often as the worst one, from the mean time of each cell.
    fn as_often_as_the_worst(&self) -> Duration {
        let most = self.most_repetitions() as f64;
        let more = self.spent.iter().filter_map(|(cell, spent)| {
            let times = self.cells.get(cell)?.len();
            (times > 0).then(|| spent.mul_f64((most / times as f64 - 1.0).max(0.0)))
        });
        self.wall + more.sum::<Duration>()
    }
}

/// Measures on tmpfs, without the noise of a disk, until half-widths are at most `asked` (a share).
pub fn measure(table: &mut Table, largest: &str, asked: f64) -> Result<(), Failure> {
    let memory = Path::new("/dev/shm").join(format!("sharebench-bench-{}", std::process::id()));
    std::fs::create_dir(&memory)?;
    let result = Contest { directory: &memory, largest, asked }.hold(table);
    std::fs::remove_dir_all(&memory)?;
    result
}

struct Contest<'a> {
    directory: &'a Path,
    largest: &'a str,
    asked: f64,
}

impl Contest<'_> {
    fn hold(&self, table: &mut Table) -> Result<(), Failure> {
        let percent = self.asked * 100.0;
        println!(
            "\n### Wall time until ±{percent} % (IOzone's matrix on tmpfs, files to {})\n",
            self.largest
        );
        println!(
            "| {:<44} | {:>8} | {:>7} | {:>14} | {:>12} | {:>10} | {:<12} |",
            "contender", "wall s", "in ours", "cells resolved", "repetitions", "median ±", "bar"
        );
        println!("|---|---:|---:|---:|---:|---:|---|");
        let ours = own(self.directory, self.largest, &format!("precision = '{percent}%'"))?;
        self.row("sharebench, until each cell is precise", &ours, &ours, CLOCKS_NS.1, "");
        let goal = ours.resolved(CLOCKS_NS.1, self.asked);
        let fixed = "sharebench, each as often as the worst (*)";
        let wall = ours.as_often_as_the_worst();
        let most = ours.most_repetitions();
        let ratio = wall.as_secs_f64() / ours.wall.as_secs_f64();
        // If hardly any cell becomes precise, the time to precision is unknown.
        let judged = 2 * goal > ours.cells.len();
        let bar = judged.then_some(Bar::AtLeast(BAR));
        println!(
            "| {fixed:<44} | {:>8.1} | {ratio:>7.2} | {:>14} | {:>12} | {:>10} | {:<12} |",
            wall.as_secs_f64(),
            "",
            format!("{most}, {}", most * ours.cells.len()),
            "",
            table.verdict(&format!("{fixed}: wall time in ours"), ratio, bar),
        );
        if judged {
            self.against_iozone(table, &ours, goal)?;
        } else {
            println!("\nHalf of the cells did not become precise: the machine is too busy to judge.");
        }
        println!("\n(*) reckoned from the mean time of each cell in the run above.");
        Ok(())
    }

    /// Repeats IOzone as a whole until the same number of cells is precise.
    fn against_iozone(&self, table: &mut Table, ours: &KnownPrecision, goal: usize) -> Result<(), Failure> {
        let Some(iozone) = iozone() else {
            println!("\nIOzone is not on this machine (Debian's non-free iozone3): its part is not judged.");
            return Ok(());
        };
        let mut its = KnownPrecision::default();
        for (name, clock_ns) in
            [("IOzone as a whole, its clock believed", 0.0), ("IOzone as a whole", CLOCKS_NS.0)]
        {
            let patience = ours.wall.mul_f64(BAR);
            while its.resolved(clock_ns, self.asked) < goal && its.wall < patience {
                its.once_more(&iozone, self.directory, self.largest)?;
            }
            let ratio = its.wall.as_secs_f64() / ours.wall.as_secs_f64();
            let verdict =
                table.verdict(&format!("{name}: wall time in ours"), ratio, Some(Bar::AtLeast(BAR)));
            self.row(name, &its, ours, clock_ns, &verdict);
        }
        Ok(())
    }

    /// Prints the time of a contender, as a lower bound if it gave up.
    fn row(&self, name: &str, it: &KnownPrecision, ours: &KnownPrecision, clock_ns: f64, verdict: &str) {
        let ratio = it.wall.as_secs_f64() / ours.wall.as_secs_f64();
        let resolved = it.resolved(clock_ns, self.asked);
        let reached = resolved >= ours.resolved(CLOCKS_NS.1, self.asked);
        let widths = it.widths(clock_ns);
        let median = widths.get(widths.len() / 2).map_or(f64::NAN, |width| width.exp_m1() * 100.0);
        println!(
            "| {name:<44} | {:>8.1} | {:>7} | {:>14} | {:>12} | {:>10} | {verdict:<12} |",
            it.wall.as_secs_f64(),
            format!("{}{ratio:.2}", if reached { "" } else { "> " }),
            format!("{resolved} of {}", it.cells.len()),
            format!("{}, {}", it.most_repetitions(), it.repetitions()),
            format!("{median:.2} %"),
        );
    }
}

impl KnownPrecision {
    /// Runs IOzone's matrix once more.
    fn once_more(&mut self, iozone: &Path, directory: &Path, largest: &str) -> Result<(), Failure> {
        let number = self.most_repetitions() as u32;
        let start = Instant::now();
        let most_kib = largest.parse::<ByteSize>()?.0 / 1024;
        let surface = theirs(iozone, directory, 64..=most_kib)?;
        self.wall += start.elapsed();
        for (cell, kib_per_s) in surface.into_iter().filter(|(_, rate)| *rate > 0.0) {
            let repetition = Repetition { rate: kib_per_s, time: cell.1 as f64 / kib_per_s * 1e9 };
            self.cells.entry(cell).or_default().insert(number, repetition);
        }
        Ok(())
    }

    fn note(&mut self, step: &StepResult, took: Duration) {
        let Some(cell) = cell_of(step) else { return };
        *self.spent.entry(cell).or_default() += took;
        let repetitions = self.cells.entry(cell).or_default();
        if let Some(rate) = step.measure.throughput().filter(|_| step.verdict() != Verdict::Invalid) {
            let time = step.measure.base_ns() as f64;
            repetitions.insert(step.repetition, Repetition { rate, time });
        }
    }
}

/// Runs the engine over the matrix once.
fn own(directory: &Path, largest: &str, repeat: &str) -> Result<KnownPrecision, Failure> {
    let plan = plan(directory, &format!("64KiB..{largest} x2"), repeat)?;
    let target = target(directory)?;
    let (events, received) = mpsc::channel();
    let start = Instant::now();
    let mut known = std::thread::scope(|scope| {
        // Consumes steps as they arrive, because the histograms of tens of thousands of steps need much memory.
        let taker = scope.spawn(move || {
            let mut known = KnownPrecision::default();
            let mut begun = Instant::now();
            for event in received {
                match event {
                    RunEvent::StepStarted { .. } => begun = Instant::now(),
                    RunEvent::StepFinished(step) => known.note(&step, begun.elapsed()),
                    _ => {}
                }
            }
            known
        });
        let end = execute(&plan, target, &events);
        drop(events);
        let known = taker.join().map_err(|_| "the taker of events panicked")?;
        end?;
        Ok::<KnownPrecision, Failure>(known)
    })?;
    known.wall = start.elapsed();
    Ok(known)
}
