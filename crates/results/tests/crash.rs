//! A process that dies in the middle of a run loses at most the step in progress.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::sample::{Scratch, header, step};
use sharebench_model::RunEvent;
use sharebench_results::{Problem, RunId, RunSink, RunState, Steps, Store, StoredRun};

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
        .args(["--exact", "crash::recorder", "--nocapture"])
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

/// Leaves a file as a process does that dies while it changes three steps: pages of the change are in the file, and the
/// journal that undoes it is next to it.
fn die_while_changing(source: &Scratch, left: &Scratch) {
    let connection = rusqlite::Connection::open(&source.0).expect("the database opens");
    // With a cache of one page, SQLite writes changed pages before the commit.
    connection.pragma_update(None, "cache_size", 1).expect("a small cache");
    connection
        .execute_batch("BEGIN IMMEDIATE; UPDATE step SET position = position + 1000")
        .expect("a change that is not committed");
    for end in ["", "-journal"] {
        let of = |scratch: &Scratch| format!("{}{end}", scratch.0.display());
        std::fs::copy(of(source), of(left)).expect("a copy");
    }
}

fn stored(file: &Scratch, steps: u32) -> RunId {
    let mut store = Store::open(&file.0).expect("a new database");
    let run = store.begin_run(&header()).expect("a run");
    for index in 0..steps {
        store.record_step(run, &step(index)).expect("a step");
    }
    run
}

#[test]
fn the_first_reader_after_a_death_undoes_the_unfinished_change() {
    let source = Scratch::new("undone-source");
    let left = Scratch::new("undone");
    let run = stored(&source, 40);
    die_while_changing(&source, &left);
    let reader = Store::open_read_only(&left.0).unwrap();
    let expected: Vec<_> = (0..40).map(step).collect();
    assert_eq!(reader.load(run).unwrap().steps, expected);
}

#[test]
fn a_stream_that_was_open_before_a_death_undoes_the_unfinished_change() {
    let source = Scratch::new("stream-source");
    let left = Scratch::new("stream");
    let run = stored(&source, 40);
    std::fs::copy(&source.0, &left.0).unwrap();
    let reader = Store::open_read_only(&left.0).unwrap();
    let stream = reader.stream(run).unwrap();
    die_while_changing(&source, &left);
    let mut steps = Vec::new();
    stream
        .visit(&mut |step| {
            steps.push(step.clone());
            Ok(())
        })
        .unwrap();
    assert_eq!(steps, (0..40).map(step).collect::<Vec<_>>());
}

#[test]
fn histograms_that_are_read_after_a_death_are_those_before_the_unfinished_change() {
    let source = Scratch::new("histograms-source");
    let left = Scratch::new("histograms");
    let run = stored(&source, 40);
    std::fs::copy(&source.0, &left.0).unwrap();
    let (compact, histograms) = Store::open_read_only(&left.0).unwrap().load_compact(run, None).unwrap();
    die_while_changing(&source, &left);
    let responses = |run: &StoredRun| -> Vec<u64> {
        run.steps.iter().map(|step| step.measure.response.quantile(0.5)).collect()
    };
    let whole = Store::open_read_only(&source.0).unwrap().load(run).unwrap();
    assert_eq!(responses(&compact), responses(&whole));
    assert!(histograms.failure().is_none());
}

#[test]
fn an_unfinished_change_that_may_not_be_undone_is_an_error_that_says_so() {
    let source = Scratch::new("kept-source");
    let left = Scratch::new("kept");
    stored(&source, 40);
    die_while_changing(&source, &left);
    // As for a user who may not write, also where the tests run as root.
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = rusqlite::Connection::open_with_flags(&left.0, flags).unwrap();
    let error = reader.query_row("SELECT count(*) FROM step", [], |_| Ok(())).unwrap_err();
    assert!(matches!(Problem::from(error), Problem::Unfinished));
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
    let script = "ulimit -f 200; trap '' XFSZ; exec \"$0\" --exact crash::limited_recorder";
    let ended = Command::new("sh").args(["-c", script]).arg(test).env(FILE, &file.0).output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && shown.contains("1 passed"), "{shown}");
}
