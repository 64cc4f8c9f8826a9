//! Snapshots of what the commands print on terminals of two widths, from runs with fixed numbers.
//!
//! Each test renders through the functions that the command uses. The environment does not matter: the width is given,
//! colours are off, and times, versions and names are fixed.

mod doctor;
mod fixed_run;
mod gates;
mod progress;

use std::path::Path;
use std::time::Duration;

use clap::Parser;
use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_model::{Coordinates, StepResult, Value, axis};
use sharebench_plan::{PlannedTarget, ResolvedPlan};
use sharebench_report::{Style, columns};
use sharebench_results::StoredRun;

use crate::args::{Arguments, Command};
use crate::commands::demo::{announcement, cause_on, summary_words};
use crate::commands::{demo, load, sweep};
use crate::flags::format::Format;
use crate::run::run_store::{analysis, render, run_data};
use crate::run::run_summary::{FinishedRun, SummaryWords};
use fixed_run::{FixedResults, fail, warn};

/// Columns and rows of a small and a usual terminal.
const TERMINALS: [(usize, usize); 2] = [(80, 24), (120, 40)];

const SWEEP: &str = "sharebench sweep smb://alice@nas/share nfs://nas/export --file-sizes 1MiB,16MiB --record-sizes \
                     4KiB,64KiB --tests write,read,random-read --repetitions 6 --seed 42";
const LOAD: &str = "sharebench load smb://alice@nas/share --workload copy --users 5,10,20,40 --think \
                    100ms --measure 10s --seed 42";
const NIGHTLY: &str = "sharebench sweep smb://alice@nas/share --file-sizes 16MiB --record-sizes 4KiB,64KiB --tests \
                       write,read --repetitions 10 --seed 42 --title nightly";

/// Terminal text of that width without colours.
fn style(width: usize) -> Style {
    Style { colour: false, ..Style::terminal(width) }
}

/// Compares a text with its snapshot.
fn check(name: &str, width: usize, text: &str) {
    insta::with_settings!({ snapshot_path => "../../tests/snapshots/output", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("{name}_{width}"), text);
    });
}

/// Fails if a line is wider than the terminal.
fn assert_fits(name: &str, width: usize, text: &str) {
    let too_wide: Vec<&str> = text.lines().filter(|line| columns(line) > width).collect();
    assert!(too_wide.is_empty(), "{name} is wider than {width} columns:\n{}", too_wide.join("\n"));
}

/// The plan of a command line.
fn plan_of(command: &str) -> ResolvedPlan {
    let words = command.split_whitespace();
    let arguments = Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{command}: {error}"));
    let plan = match arguments.command {
        Command::Sweep(args) => sweep::plan(&args),
        Command::Load(args) => load::plan(&args),
        _ => panic!("{command}: the command has no plan"),
    };
    plan.unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// The plan of the demo, with fixed ports, directory and seed.
fn demo_plan() -> ResolvedPlan {
    let target = |(name, url): (&str, &str)| PlannedTarget { name: name.to_owned(), url: url.to_owned() };
    let targets = [
        ("smb", "smb://demo@127.0.0.1:40001/share"),
        ("nfs", "nfs://127.0.0.1:40002/share?mountport=40002"),
        ("ncp", "ncp://demo@127.0.0.1:40003/SHARE?split=on"),
        ("local", "/tmp/sharebench-demo-12345678"),
    ];
    let plan = demo::plan(targets.map(target).into()).unwrap_or_else(|error| panic!("{error}"));
    ResolvedPlan { seed: 42, ..plan }
}

/// Throughput that rises with the record size.
fn rate(target: &str, at: &Coordinates) -> f64 {
    let record = at.number(axis::RECORD_SIZE).unwrap_or(65_536) as f64;
    let base = 900e6 / (1.0 + 90_000.0 / record);
    let reads = at.text(axis::TEST).is_some_and(|test| test.contains("read"));
    match target {
        "nfs" if reads => base * 1.2,
        "nfs" => base * 0.9,
        "ncp" => base * 0.5,
        "local" => base * 6.0,
        _ => base,
    }
}

/// Response times that rise with the number of users; 40 users are too many.
fn response(target: &str, users: u32) -> Duration {
    let millis = match users {
        0..=4 => 12,
        5..=9 => 20,
        10..=19 => 30,
        20..=39 => 60,
        _ => 340,
    };
    Duration::from_millis(if target == "local" { millis / 4 } else { millis })
}

fn sweep_run() -> StoredRun {
    let results = FixedResults { id: 7, command: SWEEP, rate, noise: |_| 0.04, response };
    let mut run = results.run(&plan_of(SWEEP));
    let is_at = |step: &StepResult, target, test: &str, file, record| {
        step.target == target
            && step.coordinates.text(axis::TEST) == Some(test)
            && step.coordinates.get(axis::FILE_SIZE) == Some(&Value::Bytes(file))
            && step.coordinates.get(axis::RECORD_SIZE) == Some(&Value::Bytes(record))
    };
    warn(&mut run, |step| is_at(step, 1, "write", 16 << 20, 4 << 10) && step.repetition < 2);
    fail(&mut run, |step| is_at(step, 1, "random-read", 16 << 20, 64 << 10));
    run
}

fn load_run() -> StoredRun {
    FixedResults { id: 8, command: LOAD, rate, noise: |_| 0.0, response }.run(&plan_of(LOAD))
}

fn demo_run() -> StoredRun {
    let results = FixedResults { id: 1, command: "sharebench demo", rate, noise: |_| 0.06, response };
    results.run(&demo_plan())
}

/// Two runs of one plan: reads of large records differ, those of small records do not, and writes of large records are too
/// noisy to resolve.
fn nightly_runs() -> [StoredRun; 2] {
    let noise = |at: &Coordinates| {
        let is_large = at.get(axis::RECORD_SIZE) == Some(&Value::Bytes(64 << 10));
        if is_large && at.text(axis::TEST) == Some("write") { 0.6 } else { 0.008 }
    };
    let after = |target: &str, at: &Coordinates| {
        let is_large = at.get(axis::RECORD_SIZE) == Some(&Value::Bytes(64 << 10));
        let slower = if is_large && at.text(axis::TEST) == Some("read") { 0.75 } else { 1.0 };
        rate(target, at) * slower
    };
    let plan = plan_of(NIGHTLY);
    let before = FixedResults { id: 11, command: NIGHTLY, rate, noise, response }.run(&plan);
    let after = FixedResults { id: 12, command: NIGHTLY, rate: after, noise, response }.run(&plan);
    [before, after]
}

/// What a command that measures prints at the end on a terminal: the result, where it is, and the next command.
fn screen(run: &StoredRun, analysis: &Analysis, report: Option<&Path>, width: usize, rows: usize) -> String {
    let of_demo =
        SummaryWords { cause: Some(|difference| cause_on(2, difference)), ..summary_words(&demo_plan()) };
    let words = if report.is_some() { of_demo } else { SummaryWords::default() };
    let steps = run.steps.len();
    let store = Path::new("sharebench.db");
    let finished = FinishedRun { id: run.id, complete: true, steps, store, report, words };
    finished.result(analysis, style(width), rows) + &finished.commands(analysis).join("\n") + "\n"
}

/// Compares the screen at the end of a run, and what `show` prints of it.
fn check_run(name: &str, run: &StoredRun, report: Option<&Path>) {
    let analysed = analysis(vec![run.clone()]);
    for (width, rows) in TERMINALS {
        let result = screen(run, &analysed, report, width, rows);
        assert_fits(name, width, &result);
        check(&format!("{name}_result"), width, &result);
        let shown = render(&analysed, Format::Text, style(width)).unwrap_or_else(|error| panic!("{error}"));
        assert_fits(name, width, shown.split("again: ").next().unwrap_or_default());
        check(&format!("{name}_show"), width, &shown);
    }
}

#[test]
fn sweep_shows_rates_ratios_a_warning_and_a_failed_cell() {
    check_run("sweep", &sweep_run(), None);
}

#[test]
fn load_shows_each_step_and_the_stress_point() {
    check_run("load", &load_run(), None);
}

#[test]
fn demo_shows_three_protocols_and_a_local_directory() {
    check_run("demo", &demo_run(), Some(Path::new("sharebench-demo.html")));
}

#[test]
fn demo_announces_its_servers_and_its_duration() {
    let plan = demo_plan();
    let announced = announcement(&plan, Path::new("/tmp/sharebench-demo-12345678"));
    assert_eq!(
        announced,
        "embedded SMB, NFSv3 and NCP servers over memory, and /tmp/sharebench-demo-12345678: about 43 s"
    );
}

#[test]
fn compare_shows_a_slower_an_equal_and_an_unresolved_cell() {
    let data: Vec<RunData> = nightly_runs().into_iter().map(|run| run_data(run, true)).collect();
    let analysis = analyse(&data, &Options::default());
    for (width, _) in TERMINALS {
        let text = render(&analysis, Format::Text, style(width)).unwrap_or_else(|error| panic!("{error}"));
        assert_fits("compare", width, text.split("again: ").next().unwrap_or_default());
        check("compare", width, &text);
    }
}
