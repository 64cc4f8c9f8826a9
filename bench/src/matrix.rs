//! IOzone's automatic matrix, cell by cell: sharebench's engine and IOzone on the same directory.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};

use sharebench_local::LocalTarget;
use sharebench_model::units::ByteSize;
use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;
use sharebench_target::{Target, TargetUrl};

use crate::Failure;
use crate::engine::{execute, resolve};
use crate::machine;
use crate::matrix_cell::{Cell, Surface};
use crate::matrix_fio;
use crate::table::{Bar, Spread, Table};

/// Names of IOzone's tests `-i 0 -i 1 -i 2` in sharebench and in fio. IOzone's `read` reads a cached file, as our
/// `reread` does; our `read` drops the cache first. fio cannot create new files in every pass.
pub const TESTS: [(&str, Option<&str>); 5] = [
    ("write", None),
    ("rewrite", Some("write")),
    ("reread", Some("read")),
    ("random-read", Some("randread")),
    ("random-write", Some("randwrite")),
];
/// Column of each test of [`TESTS`] in the output of IOzone.
const COLUMNS: [usize; 5] = [2, 3, 5, 6, 7];
/// Minimum time of a sample.
const SAMPLE: &str = "20ms";

/// Files up to this size in KiB are measured in every round, larger ones in half of the rounds.
const EVERY_ROUND_KIB: u64 = 4096;

/// Shortest pass in seconds that IOzone measures well: its clock has whole microseconds, 2 % of this. Shorter passes
/// are compared with fio's psync.
const CLOCK_S: f64 = 50e-6;

/// Measures on tmpfs and on the system's disk.
pub fn measure(table: &mut Table, directory: &Path, largest: &str) -> Result<(), Failure> {
    let Some(iozone) = iozone() else {
        println!("\nIOzone is not on this machine (Debian's non-free iozone3): its matrix is not judged.");
        return Ok(());
    };
    machine::warm_memory();
    let memory = Path::new("/dev/shm").join(format!("sharebench-bench-{}", std::process::id()));
    std::fs::create_dir(&memory)?;
    let result = measure_on(table, "tmpfs", &memory, &iozone, largest);
    std::fs::remove_dir_all(&memory)?;
    result?;
    measure_on(table, &file_system(directory), directory, &iozone, largest)
}

fn measure_on(
    table: &mut Table,
    what: &str,
    directory: &Path,
    iozone: &Path,
    largest: &str,
) -> Result<(), Failure> {
    let rounds = table.rounds();
    let few = table.rounds().div_ceil(2);
    println!(
        "\n### IOzone's matrix on {what} (files to {largest}, medians of {rounds} rounds, above {EVERY_ROUND_KIB} KiB {few})\n"
    );
    let mut ours = vec![Surface::new(); rounds];
    let mut its = vec![Surface::new(); rounds];
    let mut short = 0;
    // Alternates after each file size, so that both sides share the conditions of the machine.
    let largest = largest.parse::<ByteSize>()?.0 / 1024;
    for file in std::iter::successors(Some(64), |file| Some(file * 2)).take_while(|file| *file <= largest) {
        let mut cells = Vec::new();
        for round in 0..if file > EVERY_ROUND_KIB { few } else { rounds } {
            // The second contender benefits from memory that the first one has touched.
            let first = round % 2 == 0;
            if first {
                ours[round].extend(own(directory, &format!("{file}KiB"))?);
            }
            let surface = theirs(iozone, directory, file..=file)?;
            if round == 0 {
                cells = too_short(&surface);
                short += cells.len();
            }
            its[round].extend(surface);
            if !cells.is_empty() {
                its[round].extend(matrix_fio::psync(directory, &cells)?);
            }
            if !first {
                ours[round].extend(own(directory, &format!("{file}KiB"))?);
            }
        }
    }
    println!("{short} of the cells are too short for IOzone's clock and judged by fio's psync.\n");
    println!(
        "| {:<13} | cells | {:<16} | {:<44} | {:<44} |",
        "test", "geometric mean", "lowest cell", "below 1.0"
    );
    println!("|---|---:|---|---|---|");
    for (test, (name, _)) in TESTS.iter().enumerate() {
        let ratios = ratios(test, &ours, &its);
        let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let lowest =
            ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied().unwrap_or(((0, 0, 0), f64::NAN));
        let below = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).count();
        let row = format!("IOzone's matrix on {what}, {name}");
        let mean = format!(
            "{mean:.2} {}",
            table.verdict(&format!("{row}: geometric mean"), mean, Some(Bar::AtLeast(1.05)))
        );
        let least = table.verdict(&format!("{row}: lowest cell"), lowest.1, Some(Bar::AtLeast(0.9)));
        let lowest = format!("{:.2} at {} KiB x {} KiB {least}", lowest.1, lowest.0.1, lowest.0.2);
        let all = table.verdict(&format!("{row}: cells below 1.0"), below as f64, Some(Bar::AtMost(0.0)));
        println!(
            "| {name:<13} | {:>5} | {mean:<16} | {lowest:<44} | {:<44} |",
            ratios.len(),
            format!("{below} {all}")
        );
    }
    below(&ours, &its);
    Ok(())
}

/// Returns the cells that are too short for IOzone's clock, with fio's names of the tests.
fn too_short(surface: &Surface) -> Vec<(Cell, &'static str)> {
    let short = surface.iter().filter(|((_, file, _), rate)| *file as f64 / **rate < CLOCK_S);
    short.filter_map(|(cell, _)| Some((*cell, TESTS[cell.0].1?))).collect()
}

/// Prints every cell in which sharebench is slower, with the range of both; overlapping ranges may be noise.
fn below(ours: &[Surface], its: &[Surface]) {
    let spread = |surfaces: &[Surface], cell: &Cell| {
        Spread::new(
            surfaces.iter().filter_map(|surface| surface.get(cell)).map(|rate| rate / 1024.0).collect(),
        )
    };
    println!("\n| cell below 1.0 | KiB file x record | ratio | ours, MiB/s | IOzone's or fio's, MiB/s |");
    println!("|---|---|---:|---:|---:|");
    for (test, (name, _)) in TESTS.iter().enumerate() {
        for (cell, ratio) in ratios(test, ours, its).into_iter().filter(|(_, ratio)| *ratio < 1.0) {
            let ours = spread(ours, &cell);
            let its = spread(its, &cell);
            println!(
                "| {name} | {} x {} | {ratio:.2} | {} | {} |",
                cell.1,
                cell.2,
                ours.shown(),
                its.shown()
            );
        }
    }
}

/// Returns the ratio of the medians in each cell that both measured.
fn ratios(test: usize, ours: &[Surface], its: &[Surface]) -> Vec<(Cell, f64)> {
    let median = |surfaces: &[Surface], cell: &Cell| {
        Spread::new(surfaces.iter().filter_map(|surface| surface.get(cell).copied()).collect()).median
    };
    let Some(first) = ours.first() else { return Vec::new() };
    let cells =
        first.keys().filter(|cell| cell.0 == test && its.iter().any(|surface| surface.contains_key(cell)));
    cells.map(|cell| (*cell, median(ours, cell) / median(its, cell))).collect()
}

/// Returns the path of IOzone.
pub fn iozone() -> Option<PathBuf> {
    let named = std::env::var_os("IOZONE").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    named.or_else(|| {
        std::env::split_paths(&path).map(|folder| folder.join("iozone")).find(|file| file.exists())
    })
}

fn file_system(directory: &Path) -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(directory).output();
    let name = output
        .map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if name == "ext2/ext3" { "ext4".to_owned() } else { name }
}

/// Runs IOzone's matrix once for files of these sizes in KiB.
pub fn theirs(iozone: &Path, directory: &Path, sizes: RangeInclusive<u64>) -> Result<Surface, Failure> {
    let file = directory.join("iozone.tmp");
    let least = format!("{}k", sizes.start());
    let most = format!("{}k", sizes.end());
    let mut command = Command::new(iozone);
    command.args(["-a", "-n", &least, "-g", &most, "-i", "0", "-i", "1", "-i", "2", "-f"]).arg(&file);
    // IOzone writes a log of the run to the working directory.
    let output = command.current_dir(directory).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    let mut surface = Surface::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let figures: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        if let Some(figures) = figures.filter(|figures| figures.len() == 8) {
            for (test, column) in COLUMNS.iter().enumerate() {
                surface.insert((test, figures[0], figures[1]), figures[*column] as f64);
            }
        }
    }
    if surface.is_empty() { Err("iozone printed no matrix".into()) } else { Ok(surface) }
}

/// Returns the matrix as a plan on a directory, for files of `sizes`, with the repetitions of `repeat`.
pub fn plan(directory: &Path, sizes: &str, repeat: &str) -> Result<ResolvedPlan, Failure> {
    let tests = TESTS.map(|(name, _)| format!("'{name}'")).join(", ");
    resolve(&format!(
        "{repeat}\nseed = 1\nverify = 'off'\nmin_sample_time = '{SAMPLE}'\n[[target]]\nurl = '{}'\n\
         [sweep]\nauto = 'full'\nfile_sizes = ['{sizes}']\ntests = [{tests}]\n",
        directory.display()
    ))
}

/// Returns the directory as a target.
pub fn target(directory: &Path) -> Result<Arc<dyn Target>, Failure> {
    let url = TargetUrl::parse(&format!("file://{}", directory.display()))?;
    Ok(Arc::new(LocalTarget::from_url(url)?))
}

fn own(directory: &Path, sizes: &str) -> Result<Surface, Failure> {
    let (events, received) = mpsc::channel();
    execute(&plan(directory, sizes, "repetitions = 1")?, target(directory)?, &events)?;
    let mut surface = Surface::new();
    for event in received.try_iter() {
        let RunEvent::StepFinished(step) = event else { continue };
        let Some(cell) = cell_of(&step) else { continue };
        let seconds = step.measure.busy_ns as f64 / 1e9;
        let kib = (step.measure.bytes.read + step.measure.bytes.written) as f64 / 1024.0;
        surface.insert(cell, kib / seconds);
    }
    Ok(surface)
}

/// Returns the cell of a step, or `None` if IOzone has no such test.
pub fn cell_of(step: &StepResult) -> Option<Cell> {
    let at = |axis: &str| step.coordinates.get(axis).map(ToString::to_string).unwrap_or_default();
    let kib = |axis: &str| at(axis).parse::<ByteSize>().map_or(0, |size| size.0 / 1024);
    let test = TESTS.iter().position(|(ours, _)| *ours == at("test"))?;
    Some((test, kib("file_size"), kib("record_size")))
}
