//! IOzone's automatic matrix, cell by cell: sharebench's engine on a directory beside IOzone itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};

use sharebench_engine::{Clock, Run, StopSignal};
use sharebench_model::RunEvent;
use sharebench_plan::Plan;
use sharebench_posix::PosixTarget;
use sharebench_target::{Target, TargetUrl};

use crate::Failure;
use crate::table::{Bar, Spread, Table};

/// IOzone's columns of `-i 0 -i 1 -i 2`, and our names of its tests. Its `read` finds the file cached, as
/// our `reread` does; our `read` drops the cache first and is no equal of either.
const TESTS: [(&str, &str); 5] = [
    ("write", "write"),
    ("rewrite", "rewrite"),
    ("reread", "reread"),
    ("random read", "random-read"),
    ("random write", "random-write"),
];
/// Position of each test of [`TESTS`] in IOzone's line.
const COLUMNS: [usize; 5] = [2, 3, 5, 6, 7];
/// Least time of one of our samples.
const SAMPLE: &str = "20ms";

/// Test, file size in KiB, record size in KiB.
type Cell = (usize, u64, u64);
/// KiB per second of each cell.
type Surface = BTreeMap<Cell, f64>;

/// Measures on a directory in memory and on one of the system's disk.
pub fn measure(table: &mut Table, directory: &Path, largest: &str) -> Result<(), Failure> {
    let Some(iozone) = iozone() else {
        println!("\nIOzone is not on this machine (Debian's non-free iozone3): its matrix is not judged.");
        return Ok(());
    };
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
    println!("\n### IOzone's matrix on {what} (files to {largest}, medians of {} rounds)\n", table.rounds());
    let (mut ours, mut its) = (Vec::new(), Vec::new());
    for _ in 0..table.rounds() {
        ours.push(own(directory, largest)?);
        its.push(theirs(iozone, directory, largest)?);
    }
    println!(
        "| {:<13} | cells | {:<16} | {:<44} | {:<44} |",
        "test", "geometric mean", "lowest cell", "below 1.0"
    );
    println!("|---|---:|---|---|---|");
    for (test, (_, name)) in TESTS.iter().enumerate() {
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
    Ok(())
}

/// Ratio of the medians in each cell that both measured.
fn ratios(test: usize, ours: &[Surface], its: &[Surface]) -> Vec<(Cell, f64)> {
    let median = |surfaces: &[Surface], cell: &Cell| {
        Spread::new(surfaces.iter().filter_map(|surface| surface.get(cell).copied()).collect()).median
    };
    let Some(first) = ours.first() else { return Vec::new() };
    let cells =
        first.keys().filter(|cell| cell.0 == test && its.iter().all(|surface| surface.contains_key(cell)));
    cells.map(|cell| (*cell, median(ours, cell) / median(its, cell))).collect()
}

fn iozone() -> Option<PathBuf> {
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

fn theirs(iozone: &Path, directory: &Path, largest: &str) -> Result<Surface, Failure> {
    let file = directory.join("iozone.tmp");
    let size = largest.trim_end_matches("iB").to_lowercase();
    let mut command = Command::new(iozone);
    command.args(["-a", "-g", &size, "-i", "0", "-i", "1", "-i", "2", "-f"]).arg(&file);
    // Its own record of a run would be written into the working directory.
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

fn own(directory: &Path, largest: &str) -> Result<Surface, Failure> {
    let tests = TESTS.map(|(_, name)| format!("'{name}'")).join(", ");
    let plan = format!(
        "repetitions = 1\nseed = 1\nverify = 'off'\nsample = '{SAMPLE}'\n[[target]]\nurl = '{}'\n\
         [sweep]\nauto = 'full'\nfile_sizes = ['64KiB..{largest} x2']\ntests = [{tests}]\n",
        directory.display()
    );
    let plan = Plan::parse(&plan).map_err(|mistakes| mistakes.to_string())?;
    let plan = plan.resolve().map_err(|mistakes| mistakes.to_string())?;
    let url = TargetUrl::parse(&format!("file://{}", directory.display()))?;
    let targets: [Arc<dyn Target>; 1] = [Arc::new(PosixTarget::from_url(url)?)];
    let (events, received) = mpsc::channel();
    let run = Run {
        plan: &plan,
        targets: &targets,
        done: &BTreeSet::new(),
        directory: ".sharebench-bench",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &Clock::start(),
        events: &events,
    };
    run.execute()?;
    let mut surface = Surface::new();
    for event in received.try_iter() {
        let RunEvent::StepFinished(step) = event else { continue };
        let text = |axis: &str| step.coordinates.get(axis).map(ToString::to_string).unwrap_or_default();
        let bytes = |axis: &str| {
            text(axis).parse::<sharebench_model::units::ByteSize>().map_or(0, |size| size.0 / 1024)
        };
        let Some(test) = TESTS.iter().position(|(_, name)| *name == text("test")) else { continue };
        let seconds = step.measure.busy_ns as f64 / 1e9;
        let kib = (step.measure.bytes.read + step.measure.bytes.written) as f64 / 1024.0;
        surface.insert((test, bytes("file_size"), bytes("record_size")), kib / seconds);
    }
    Ok(surface)
}
