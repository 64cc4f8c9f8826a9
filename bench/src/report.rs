//! Cost of the page of a large comparison: creation, transfer and scrolling.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sharebench_analysis::{Options, RunData, analyse};
use sharebench_report::html;
use sharebench_results::{FinishedRun, RunId, Store};
use sharebench_tests::Reader;

use crate::Failure;
use crate::sample::{cpu, cpu_of_children};
use crate::table::{Bar, Spread, Table};
use crate::{lab, live};

/// IOzone's tests, each with 13 file sizes by 12 record sizes: 2028 cells.
const TESTS: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random-read",
    "random-write",
    "backward-read",
    "rewrite-record",
    "stride-read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
];
const CELLS: (u64, u64) = (13, 12);
/// Limits: seconds, bytes, and milliseconds of the longest task in the browser.
const TIME_BAR: f64 = 1.0;
const SIZE_BAR: f64 = 5e6;
const TASK_BAR: f64 = 200.0;

/// Prints the cost of creating and using the page.
pub fn measure(table: &mut Table, scratch: &Path) -> Result<(), Failure> {
    let cells = TESTS.len() as u64 * CELLS.0 * CELLS.1;
    println!("\n### A comparison of {cells} cells on two targets, eight sweeps\n");
    println!(
        "| {:<48} | {:<26} | {:<18} | {:<12} |\n|---|---|---|---|",
        "what", "seconds (range)", "CPU seconds", "bar"
    );
    let book = scratch.join("report.db");
    let RunData { header, facts, steps, .. } = lab::surface("two systems", &TESTS, CELLS, 1);
    Store::open(&book)?.add_finished(&[FinishedRun { header, facts, steps }])?;
    let rounds = table.rounds();

    let load = || Ok(lab::data(Store::open_read_only(&book)?.load(RunId(1))?));
    let run = [line(table, "load the run", rounds, None, cpu, load)?];
    let analysis = line(table, "analyse it", rounds, None, cpu, || Ok(analyse(&run, &Options::default())))?;
    let page = line(table, "render the page", rounds, Some(TIME_BAR), cpu, || Ok(html(&analysis)))?;
    drop((run, analysis));

    let program = live::program()?;
    let file = scratch.join("report.html");
    let command = || {
        let made = Command::new(&program)
            .args(["report", "1", "--db"])
            .arg(&book)
            .arg("--output")
            .arg(&file)
            .stdout(Stdio::null())
            .status()?;
        if made.success() { Ok(()) } else { Err(Failure::from(format!("sharebench report: {made}"))) }
    };
    line(table, "`sharebench report`, all of it", rounds, None, cpu_of_children, command)?;

    println!("\n| {:<48} | {:>10} | {:<12} |\n|---|---:|---|", "what", "bytes", "bar");
    let verdict = table.verdict("bytes of the page", page.len() as f64, Some(Bar::AtMost(SIZE_BAR)));
    println!("| {:<48} | {:>10} | {verdict:<12} |", "the page", page.len());
    scroll(table, &file)
}

/// Runs something in each round, prints its time, and returns the result of the last round.
fn line<T>(
    table: &mut Table,
    what: &str,
    rounds: usize,
    bar: Option<f64>,
    cpu: fn() -> Duration,
    mut work: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut walls = Vec::new();
    let mut cpus = Vec::new();
    let mut last = None;
    for _ in 0..rounds {
        let before = cpu();
        let started = Instant::now();
        last = Some(work()?);
        walls.push(started.elapsed().as_secs_f64());
        cpus.push(cpu().saturating_sub(before).as_secs_f64());
    }
    let wall = Spread::new(walls);
    let cpu = Spread::new(cpus);
    let verdict = table.verdict(what, wall.median, bar.map(Bar::AtMost));
    println!("| {what:<48} | {:<26} | {:<18} | {verdict:<12} |", wall.shown(), cpu.shown());
    last.ok_or_else(|| "no round was measured".into())
}

/// Uses the page in Chromium and prints the longest task of each part.
fn scroll(table: &mut Table, page: &Path) -> Result<(), Failure> {
    if let Some(missing) = Reader::NEEDS.iter().find_map(|need| need.unmet()) {
        println!("\nThe page was not scrolled: {missing} (tests/install-peers installs it).");
        return Ok(());
    }
    let found = Reader::scroll(page.to_str().ok_or("--dir is no text")?)?;
    println!("\n### The page in Chromium: the longest task of each part\n");
    println!(
        "opened in {} ms; charts: {} drawn of {}; {} elements\n",
        found["opened_ms"], found["charts"]["drawn"], found["charts"]["all"], found["charts"]["elements"]
    );
    println!(
        "| {:<12} | {:>8} | {:>8} | {:>11} | {:<12} | within |\n|---|---:|---:|---:|---|---|",
        "part", "ms", "CPU ms", "above 50 ms", "bar"
    );
    for part in found["parts"].as_array().into_iter().flatten() {
        let name = part["part"].as_str().unwrap_or_default();
        let longest = part["longest_ms"].as_f64().ok_or("a trace without tasks")?;
        // The task of opening the page is no interaction.
        let bar = (name != "open").then_some(Bar::AtMost(TASK_BAR));
        let verdict = table.verdict(&format!("longest task, {name}, ms"), longest, bar);
        let within: Vec<&str> =
            part["within"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        println!(
            "| {name:<12} | {longest:>8.1} | {:>8.1} | {:>11} | {verdict:<12} | {} |",
            part["cpu_ms"].as_f64().unwrap_or(f64::NAN),
            part["above_50_ms"],
            within.join(", ")
        );
    }
    Ok(())
}
