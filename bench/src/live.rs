//! Cost of the live view: alternating runs on the null target, on a terminal and without output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sharebench_stats::{Estimate, hodges_lehmann};

use crate::Failure;
use crate::sample::{Sample, cpu_of_children};
use crate::table::{Bar, Spread, Table};

/// Maximum cost of the live view, as a share of the rate.
const BAR: f64 = 0.99;
/// Half-width of the 95 % confidence interval at which the measurement stops, and the maximum number of pairs.
const HALF_WIDTH: f64 = 0.003;
const MAX_PAIRS: usize = 40;
/// Steps per measurement: repetitions of two cells.
const REPETITIONS: u32 = 10;

/// Measures sweeps whose steps share `time`, and loads of `time`.
pub fn measure(table: &mut Table, scratch: &Path, time: Duration) -> Result<(), Failure> {
    let program = program()?;
    let sample = time.as_millis().div_ceil(u128::from(REPETITIONS) * 2).max(1);
    let load = |users: u32, think: &str| {
        format!(
            "load null:// --no-verify --users {users} --think {think} --scale 1MB --block 4KiB --warm-up 100ms --measure {}ms",
            time.as_millis()
        )
    };
    let sweep = format!(
        "sweep null:// --no-verify --file-sizes 1MiB --record-sizes 4KiB,64KiB --tests random-read \
         --repetitions {REPETITIONS} --min-sample-time {sample}ms"
    );
    println!("\n### The live view on a terminal, compared with --quiet\n");
    println!(
        "| {:<30} | {:>5} | {:>10} | {:>10} | {:<24} | {:<22} | {:<12} |\n|---|---:|---:|---:|---|---|---|",
        "what", "pairs", "shown op/s", "quiet op/s", "ratio [95 %]", "CPU of it, % of one", "bar"
    );
    for (what, line) in [
        ("sweep, one user", sweep),
        ("load, 4 users who think 100 us", load(4, "100us")),
        // More users than CPUs without think time: CPU time of the view is lost to them.
        ("load, 4 users who never wait", load(4, "0s")),
    ] {
        pairs(table, what, &|shown| once(&program, scratch, &line, shown))?;
    }
    Ok(())
}

/// Measures pairs in alternating order and prints a row: the Hodges-Lehmann ratio with its signed-rank interval.
fn pairs(
    table: &mut Table,
    what: &str,
    once: &dyn Fn(bool) -> Result<(Sample, f64), Failure>,
) -> Result<(), Failure> {
    let mut logs = Vec::new();
    let mut taken = Vec::new();
    let mut rates = [Vec::new(), Vec::new()];
    let ratio = loop {
        let first = logs.len() % 2 == 0;
        let one = once(first)?;
        let other = once(!first)?;
        let (shown, quiet) = if first { (one, other) } else { (other, one) };
        logs.push((shown.0.rate() / quiet.0.rate()).ln());
        taken.push((shown.1 - quiet.1) * 100.0);
        rates[0].push(shown.0.rate());
        rates[1].push(quiet.0.rate());
        let ratio = hodges_lehmann(&logs, 0.95).ok_or("nothing was measured")?;
        let known = ratio.interval.is_some_and(|interval| interval.half_width() <= HALF_WIDTH);
        if logs.len() >= MAX_PAIRS || known && logs.len() >= table.rounds() {
            break ratio.map(f64::exp);
        }
    };
    let verdict =
        table.verdict(&format!("{what}: op/s with the live view"), ratio.value, Some(Bar::AtLeast(BAR)));
    let [shown, quiet] = rates.map(|rates| Spread::new(rates).median);
    println!(
        "| {what:<30} | {:>5} | {shown:>10.0} | {quiet:>10.0} | {:<24} | {:<22} | {verdict:<12} |",
        logs.len(),
        interval_of(&ratio),
        Spread::new(taken).shown()
    );
    Ok(())
}

fn interval_of(ratio: &Estimate) -> String {
    let interval = ratio.interval.map_or(String::new(), |i| format!(" [{:.4}, {:.4}]", i.low, i.high));
    format!("{:.4}{interval}", ratio.value)
}

/// Returns `SHAREBENCH`, or the program built with this profile.
pub fn program() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("SHAREBENCH") {
        return Ok(named.into());
    }
    let target = std::env::current_exe()?.ancestors().nth(2).ok_or("no target directory")?.to_owned();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let built = Command::new("cargo")
        .args([
            "build",
            "--locked",
            "--quiet",
            "--release",
            "--package",
            "sharebench",
            "--manifest-path",
            manifest,
        ])
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    if built.success() {
        Ok(target.join("release/sharebench"))
    } else {
        Err("the program did not build".into())
    }
}

/// Measures operations over busy time of one run, and CPU time over wall time, including the CPU time of `script`.
///
/// If `shown`, the program runs on its own terminal, which `script` of util-linux creates.
fn once(program: &Path, scratch: &Path, line: &str, shown: bool) -> Result<(Sample, f64), Failure> {
    let book = scratch.join("live.db");
    let _ = std::fs::remove_file(&book);
    let quiet = if shown { "" } else { " --quiet" };
    let line = format!("{} {line} --db {}{quiet}", program.display(), book.display());
    let before = cpu_of_children();
    let started = Instant::now();
    let output = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .output()?;
    let cpu = cpu_of_children().saturating_sub(before);
    let share = cpu.as_secs_f64() / started.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || said.contains("q: stop") != shown {
        return Err(format!("{line}: {}: {said}", output.status).into());
    }
    let table = Command::new(program).args(["export", "1", "--format", "csv", "--db"]).arg(&book).output()?;
    let table = String::from_utf8(table.stdout)?;
    let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let head = rows.next().ok_or("an empty table")?;
    let column =
        |name: &str| head.iter().position(|column| *column == name).ok_or(format!("no column {name}"));
    let operations = column("operations")?;
    let time = column("rate_base_ns")?;
    let mut sample = Sample { operations: 0, wall_ns: 0, cpu_ns: cpu.as_nanos() as u64, peak_kib: 0 };
    for row in rows {
        sample.operations += row[operations].parse::<u64>()?;
        sample.wall_ns += row[time].parse::<u64>()?;
    }
    Ok((sample, share))
}
