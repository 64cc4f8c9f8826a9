//! A process that dies in the middle of a run loses at most the step in progress.

mod sample;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use sample::{Scratch, header, step};
use sharebench_model::RunEvent;
use sharebench_results::{Problem, RunSink, RunState, Store};

const FILE: &str = "SHAREBENCH_TEST_DB";

/// The process that the test below kills; nothing happens where the variable is not set.
#[test]
fn recorder() {
    let Ok(path) = std::env::var(FILE) else { return };
    let mut sink = RunSink::new(Store::open(path).unwrap());
    sink.record(&RunEvent::Started(Box::new(header()))).unwrap();
    for index in 0..100_000 {
        sink.record(&RunEvent::StepFinished(Box::new(step(index)))).unwrap();
        println!("\nrecorded {index}");
        // Faster than any run, and slow enough that SQLite's unfair waiting lets readers in.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_keeps_every_recorded_step_and_resumes() {
    let file = Scratch::new("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recorder", "--nocapture"])
        .env(FILE, &file.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut recorded = lines.filter_map(|line| line.strip_prefix("recorded ")?.parse::<u32>().ok());
    let seen = recorded.by_ref().find(|index| *index >= 15).unwrap();
    let reader = Store::open_read_only(&file.0).unwrap();
    let run = reader.last_run().unwrap();
    assert_eq!(reader.load(run).unwrap().state, RunState::Running);
    let mut other = Store::open(&file.0).unwrap();
    let taken = other.reopen_run(run).unwrap_err();
    assert!(matches!(taken.problem, Problem::UnderWay(pid) if pid == child.id()), "{taken}");
    child.kill().unwrap();
    let last = recorded.last().unwrap_or(seen);
    child.wait().unwrap();

    let stored = reader.load(run).unwrap();
    assert_eq!(stored.state, RunState::Interrupted);
    assert!(stored.steps.len() as u32 > last, "{} of {}", stored.steps.len(), last + 1);
    assert_eq!(stored.steps, (0..stored.steps.len() as u32).map(step).collect::<Vec<_>>());
    let mut sink = RunSink::resume(other, run, &[]).unwrap();
    assert_eq!(reader.runs().unwrap()[0].state, RunState::Running);
    sink.record(&RunEvent::StepFinished(Box::new(step(200_000)))).unwrap();
    assert_eq!(reader.finished_steps(run).unwrap().len(), stored.steps.len() + 1);
}

/// The process that the test below starts under a file size limit.
#[test]
fn limited_recorder() {
    let Ok(path) = std::env::var(FILE) else { return };
    let mut store = Store::open(path).unwrap();
    let run = store.begin_run(&header()).unwrap();
    let mut recorded = 0;
    let error = loop {
        match store.record_step(run, &step(recorded)) {
            Ok(()) => recorded += 1,
            Err(error) => break error,
        }
        assert!(recorded < 5000, "the limit was never met");
    };
    let message = error.to_string();
    println!("{message}");
    assert!(message.contains(&format!("record step {recorded} of run 1")), "{message}");
    // The limit fails like a broken disk in SQLite's words; what counts is that nothing is lost.
    assert_eq!(store.load(run).unwrap().steps.len() as u32, recorded);
}

// Windows has no limit of the size of a file.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_no_recorded_step() {
    let file = Scratch::new("limited");
    let test = std::env::current_exe().unwrap();
    let script = "ulimit -f 200; trap '' XFSZ; exec \"$0\" --exact limited_recorder";
    let ended = Command::new("sh").args(["-c", script]).arg(test).env(FILE, &file.0).output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && shown.contains("1 passed"), "{shown}");
}
