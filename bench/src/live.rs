//! Cost of the live view: alternating runs on the null target with it, on a terminal or in an open page, and without output.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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
            "load null:// --verify off --users {users} --think {think} --scale 1MB --block 4KiB --warm-up 100ms --measure {}ms",
            time.as_millis()
        )
    };
    let sweep = format!(
        "verify = 'off'\nrepetitions = {REPETITIONS}\nmin_sample_time = '{sample}ms'\n[[target]]\nurl = 'null://'\n\
         [sweep]\nfile_sizes = '1MiB'\nrecord_sizes = ['4KiB', '64KiB']\ntests = 'random-read'\n"
    );
    let plan = scratch.join("live.toml");
    std::fs::write(&plan, sweep)?;
    let sweep = format!("run {}", plan.display());
    println!("\n### The live view on a terminal and in an open page, compared with --quiet\n");
    println!(
        "| {:<46} | {:>5} | {:>10} | {:>10} | {:<24} | {:<22} | {:<12} |\n|---|---:|---:|---:|---|---|---|",
        "what", "pairs", "shown op/s", "quiet op/s", "ratio [95 %]", "CPU of it, % of one", "bar"
    );
    for (what, line) in [
        ("sweep, one user", sweep),
        ("load, 4 users who think 100 us", load(4, "100us")),
        // More users than CPUs without think time: CPU time of the view is lost to them.
        ("load, 4 users who never wait", load(4, "0s")),
    ] {
        pairs(table, what, &|shown| on_terminal(&program, scratch, &line, shown))?;
        pairs(table, &format!("{what}, --dashboard"), &|shown| in_page(&program, scratch, &line, shown))?;
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
        "| {what:<46} | {:>5} | {shown:>10.0} | {quiet:>10.0} | {:<24} | {:<22} | {verdict:<12} |",
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
            "--profile=dist",
            "--package",
            "sharebench",
            "--manifest-path",
            manifest,
        ])
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    if built.success() { Ok(target.join("dist/sharebench")) } else { Err("the program did not build".into()) }
}

/// Measures one run on its own terminal, which `script` of util-linux creates; with the live view if it is `shown`.
///
/// Returns operations over busy time, and CPU time over wall time, including the CPU time of `script`.
fn on_terminal(program: &Path, scratch: &Path, line: &str, shown: bool) -> Result<(Sample, f64), Failure> {
    let book = empty_book(scratch);
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
    let wall = started.elapsed();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || said.contains("q: stop") != shown {
        return Err(format!("{line}: {}: {said}", output.status).into());
    }
    stored(program, &book, cpu, wall)
}

/// Measures one run without terminal; with `--dashboard` and a page that follows it if it is `shown`.
///
/// Returns operations over busy time, and CPU time over wall time. The CPU time includes the report at the end.
fn in_page(program: &Path, scratch: &Path, line: &str, shown: bool) -> Result<(Sample, f64), Failure> {
    let book = empty_book(scratch);
    let mut command = Command::new(program);
    command.args(line.split_whitespace()).arg("--quiet").arg("--db").arg(&book);
    if shown {
        command.arg("--dashboard=127.0.0.1:0");
    }
    let before = cpu_of_children();
    let started = Instant::now();
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(run.stderr.take().ok_or("no standard error")?);
    let mut said = String::new();
    if shown {
        output.read_line(&mut said)?;
        follow(said.trim_end())?;
    }
    output.read_to_string(&mut said)?;
    let status = run.wait()?;
    let cpu = cpu_of_children().saturating_sub(before);
    let wall = started.elapsed();
    if !status.success() {
        return Err(format!("{line}: {status}: {said}").into());
    }
    stored(program, &book, cpu, wall)
}

/// Reads the events of a dashboard to their end and then the report, as the page does. `said` is the line with its address.
fn follow(said: &str) -> Result<(), Failure> {
    let url = said.split_once("http://").ok_or_else(|| format!("no address of a dashboard in {said}"))?.1;
    let (address, path) = url.split_once('/').ok_or("an address without a path")?;
    for page in ["events", ""] {
        let mut connection = TcpStream::connect(address)?;
        let request = format!("GET /{path}{page} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes())?;
        if std::io::copy(&mut connection, &mut std::io::sink())? == 0 {
            return Err(format!("no answer from {url}").into());
        }
    }
    Ok(())
}

/// Path of a results database that does not exist.
fn empty_book(scratch: &Path) -> PathBuf {
    let book = scratch.join("live.db");
    let _ = std::fs::remove_file(&book);
    book
}

/// Operations and busy time of the stored run, and its CPU time over its wall time.
fn stored(program: &Path, book: &Path, cpu: Duration, wall: Duration) -> Result<(Sample, f64), Failure> {
    let table = Command::new(program).args(["export", "1", "--format", "csv", "--db"]).arg(book).output()?;
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
    Ok((sample, cpu.as_secs_f64() / wall.as_secs_f64()))
}
