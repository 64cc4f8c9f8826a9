//! The store keeps runs exactly, reports the state of each, and names what is wrong with a file.
use std::sync::Barrier;

use crate::sample::{Scratch, header, step};
use sharebench_model::{ErrorClass, Facts, RunEvent, RunOutcome, StepError};
use sharebench_results::{Problem, RunId, RunReference, RunSink, RunState, Store};

fn facts(dialect: &str) -> Facts {
    Facts::from([("dialect".into(), dialect.into())])
}

#[test]
fn a_stored_run_loads_unchanged() {
    let file = Scratch::new("round");
    let mut sink = RunSink::new(Store::open(&file.0).unwrap());
    sink.record(&RunEvent::Started(Box::new(header()))).unwrap();
    sink.record(&RunEvent::TargetReady { target: 1, facts: facts("3.1.1") }).unwrap();
    for index in [2, 0, 3] {
        sink.record(&RunEvent::StepFinished(Box::new(step(index)))).unwrap();
    }
    let run = sink.run().unwrap();
    let reader = Store::open_read_only(&file.0).unwrap();
    assert_eq!(reader.load(run).unwrap().state, RunState::Running);
    sink.record(&RunEvent::Finished(RunOutcome::Incomplete(StepError::TargetLost {
        class: ErrorClass::Disconnected,
        reason: "gone: \"x\"".into(),
    })))
    .unwrap();
    let stored = reader.load(run).unwrap();
    assert_eq!(stored.header, header());
    assert_eq!(stored.steps, [step(0), step(2), step(3)]);
    assert_eq!(stored.facts, [Facts::new(), facts("3.1.1")]);
    assert_eq!(
        stored.state,
        RunState::Ended(RunOutcome::Incomplete(StepError::TargetLost {
            class: ErrorClass::Disconnected,
            reason: "gone: \"x\"".into()
        }))
    );
    let [summary] = &reader.runs().unwrap()[..] else { panic!() };
    assert_eq!((summary.steps_done, summary.steps_planned), (3, 4));
    assert_eq!(summary.targets, ["smb", "local"]);
    assert_eq!(reader.finished_steps(run).unwrap().into_iter().collect::<Vec<_>>(), [0, 2, 3]);
}

#[cfg(unix)]
#[test]
fn a_new_database_is_readable_by_its_owner_only() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let file = Scratch::new("private");
    drop(Store::open(&file.0).unwrap());
    assert_eq!(std::fs::metadata(&file.0).unwrap().mode() & 0o777, 0o600);
    // The user may share it.
    std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(Store::open(&file.0).unwrap());
    assert_eq!(std::fs::metadata(&file.0).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn a_finished_run_is_immutable() {
    let file = Scratch::new("immutable");
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    store.record_step(run, &step(0)).unwrap();
    let twice = store.record_step(run, &step(0)).unwrap_err();
    assert!(matches!(twice.problem, Problem::OutOfOrder(_)) && twice.step.contains("step 0"), "{twice}");
    store.finish_run(run, &RunOutcome::Complete).unwrap();
    for error in [
        store.record_step(run, &step(1)).unwrap_err(),
        store.set_facts(run, 0, &facts("2.1")).unwrap_err(),
        store.finish_run(run, &RunOutcome::Incomplete(StepError::Stopped)).unwrap_err(),
        store.reopen_run(run).unwrap_err(),
    ] {
        assert!(matches!(error.problem, Problem::Ended), "{error}");
    }
    assert_eq!(store.load(run).unwrap().steps, [step(0)]);
}

#[test]
fn a_stopped_run_resumes_with_its_missing_steps() {
    let file = Scratch::new("resume");
    let mut sink = RunSink::new(Store::open(&file.0).unwrap());
    sink.record(&RunEvent::Started(Box::new(header()))).unwrap();
    sink.record(&RunEvent::StepFinished(Box::new(step(1)))).unwrap();
    sink.record(&RunEvent::Finished(RunOutcome::Incomplete(StepError::Stopped))).unwrap();
    let run = sink.run().unwrap();
    let mut sink = RunSink::resume(Store::open(&file.0).unwrap(), run, &[]).unwrap();
    assert_eq!(sink.store().load(run).unwrap().state, RunState::Running);
    sink.record(&RunEvent::Started(Box::new(header()))).unwrap();
    sink.record(&RunEvent::StepFinished(Box::new(step(0)))).unwrap();
    assert_eq!(sink.store().runs().unwrap()[0].steps_done, 2, "what its first end wrote down holds no more");
    sink.record(&RunEvent::Finished(RunOutcome::Complete)).unwrap();
    let stored = sink.store().load(run).unwrap();
    assert_eq!((stored.steps, stored.state), (vec![step(0), step(1)], RunState::Ended(RunOutcome::Complete)));
    assert_eq!(sink.store().runs().unwrap().len(), 1);
}

#[test]
fn the_sink_rejects_events_out_of_order() {
    let file = Scratch::new("order");
    let mut sink = RunSink::new(Store::open(&file.0).unwrap());
    let early = sink.record(&RunEvent::Finished(RunOutcome::Complete)).unwrap_err();
    assert!(early.to_string().contains("has not started"), "{early}");
    sink.record(&RunEvent::Started(Box::new(header()))).unwrap();
    let again = sink.record(&RunEvent::Started(Box::new(header()))).unwrap_err();
    assert!(again.to_string().contains("started before"), "{again}");
    let third = sink.record(&RunEvent::TargetReady { target: 2, facts: facts("x") }).unwrap_err();
    assert!(third.to_string().contains("no target 2"), "{third}");
}

#[test]
fn references_find_runs() {
    let file = Scratch::new("reference");
    let mut store = Store::open(&file.0).unwrap();
    let resolve = |store: &Store, text: &str| text.parse::<RunReference>().unwrap().resolve(store);
    assert!(matches!(resolve(&store, "last").unwrap_err().problem, Problem::NoRuns));
    for _ in 0..2 {
        store.begin_run(&header()).unwrap();
    }
    assert_eq!(resolve(&store, "last").unwrap(), RunId(2));
    assert_eq!(resolve(&store, "1").unwrap(), RunId(1));
    let missing = resolve(&store, "9").unwrap_err().to_string();
    assert!(missing.contains("no run 9") && missing.contains("sharebench runs"), "{missing}");
    let named: RunReference = format!("{}:last", file.0.display()).parse().unwrap();
    assert_eq!(named.open("/nowhere.db".as_ref()).unwrap().path(), file.0);
}

#[test]
fn two_writers_share_a_file() {
    let file = Scratch::new("shared");
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let path = file.0.clone();
            std::thread::spawn(move || {
                let mut store = Store::open(path).unwrap();
                let run = store.begin_run(&header()).unwrap();
                (0..20).for_each(|index| store.record_step(run, &step(index)).unwrap());
                run
            })
        })
        .collect();
    let runs: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let store = Store::open_read_only(&file.0).unwrap();
    for run in runs {
        assert_eq!(store.load(run).unwrap().steps, (0..20).map(step).collect::<Vec<_>>());
    }
}

/// A file that another process is just creating was called another program's.
#[test]
fn a_file_under_creation_is_not_reported_as_foreign() {
    for round in 0..40 {
        let file = Scratch::new(&format!("creation-{round}"));
        let start = Barrier::new(6);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    start.wait();
                    let store = Store::open(&file.0).unwrap();
                    assert_eq!(store.runs().unwrap(), []);
                });
                scope.spawn(|| {
                    start.wait();
                    match Store::open_read_only(&file.0) {
                        Ok(store) => assert_eq!(store.runs().unwrap(), []),
                        // Earlier than the file, or than its tables.
                        Err(error) => {
                            let early = matches!(error.problem, Problem::NoFile | Problem::NoRuns);
                            assert!(early, "{error}");
                        }
                    }
                });
            }
        });
    }
}

fn problem(path: &std::path::Path) -> String {
    let reading = Store::open_read_only(path).unwrap_err().to_string();
    let writing = Store::open(path).unwrap_err().to_string();
    assert_eq!(reading, writing);
    assert!(reading.contains(&path.display().to_string()), "{reading}");
    reading
}

#[test]
fn a_file_that_is_not_a_database_is_an_error_and_stays_unchanged() {
    let file = Scratch::new("text");
    let text = "[[step]]\ntest = \"read\"\n".repeat(100);
    std::fs::write(&file.0, &text).unwrap();
    assert!(problem(&file.0).contains("not a sharebench database (not an SQLite file)"));
    assert_eq!(std::fs::read_to_string(&file.0).unwrap(), text);
}

#[test]
fn a_database_of_another_program_is_an_error() {
    let file = Scratch::new("foreign");
    let other = rusqlite::Connection::open(&file.0).unwrap();
    other.execute_batch("CREATE TABLE bookmark (id INTEGER)").unwrap();
    drop(other);
    assert!(problem(&file.0).contains("another program"));
}

#[test]
fn a_database_of_a_newer_schema_is_an_error_that_says_so() {
    let file = Scratch::new("newer");
    drop(Store::open(&file.0).unwrap());
    let other = rusqlite::Connection::open(&file.0).unwrap();
    let known: i64 = other.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let newer = known + 1;
    other.pragma_update(None, "user_version", newer).unwrap();
    drop(other);
    let message = problem(&file.0);
    let said = format!("newer sharebench (schema {newer}, this program reads {known})");
    assert!(known > 0 && message.contains(&said), "{message}");
}

#[test]
fn a_database_of_an_older_schema_is_an_error_that_says_so_and_stays_unchanged() {
    let file = Scratch::new("older");
    drop(Store::open(&file.0).unwrap());
    let other = rusqlite::Connection::open(&file.0).unwrap();
    let known: i64 = other.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    for older in 1..known {
        other.pragma_update(None, "user_version", older).unwrap();
        let bytes = std::fs::read(&file.0).unwrap();
        let message = problem(&file.0);
        let expected = format!("older sharebench (schema {older}, this program reads {known})");
        assert!(message.contains(&expected) && message.contains("--db"), "{message}");
        assert_eq!(std::fs::read(&file.0).unwrap(), bytes, "opening changed the file");
    }
}

#[test]
fn a_damaged_database_is_an_error_and_not_a_wrong_run() {
    let file = Scratch::new("damaged");
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    (0..30).for_each(|index| store.record_step(run, &step(index)).unwrap());
    drop(store);
    let mut bytes = std::fs::read(&file.0).unwrap();
    let len = bytes.len();
    bytes[4096 * 2..len].fill(0xA7);
    std::fs::write(&file.0, bytes).unwrap();
    let error = Store::open_read_only(&file.0).and_then(|store| store.load(run)).unwrap_err();
    assert!(matches!(error.problem, Problem::Corrupt(_)), "{error}");
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn an_unreadable_value_names_its_column() {
    let file = Scratch::new("value");
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    store.record_step(run, &step(0)).unwrap();
    let other = rusqlite::Connection::open(&file.0).unwrap();
    other.execute("UPDATE step SET service = x'00'", []).unwrap();
    let error = store.load(run).unwrap_err().to_string();
    assert!(error.contains("column service") && error.contains("load run 1"), "{error}");
}

#[test]
fn errors_name_a_missing_directory_and_a_missing_file() {
    let error = Store::open("/nowhere/at/all.db").unwrap_err();
    assert!(matches!(error.problem, Problem::NoDirectory(_)), "{error}");
    let file = Scratch::new("missing");
    let error = Store::open_read_only(&file.0).unwrap_err();
    assert!(matches!(error.problem, Problem::NoFile) && !file.0.exists(), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn errors_name_a_directory_that_accepts_no_files() {
    let error = Store::open("/proc/sharebench.db").unwrap_err();
    assert!(matches!(error.problem, Problem::CannotCreate | Problem::ReadOnly), "{error}");
    assert!(error.to_string().starts_with("/proc/sharebench.db: open: "), "{error}");
}
