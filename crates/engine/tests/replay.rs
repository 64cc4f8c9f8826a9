//! A loadfile replayed against the memory double in virtual time: outcomes, time stamps, what is put back, and what
//! goes wrong.

use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd};
use sharebench_model::{ErrorClass, Measure, StepResult, Verdict};
use sharebench_plan::{Plan, TypedWorkload};
use sharebench_simulated::{Device, Service, SimulatedTarget};

/// Measures one step of two users who replay a script; gives it, and what went wrong in words.
fn replay(script: &str, seconds: u32, load: &str) -> (StepResult, Vec<String>) {
    let text = format!(
        "seed = '3'\nverify = 'full'\n[[target]]\nurl = '/memory'\n[load]\nusers = [2]\nwarm_up = '500ms'\n\
         measure = '{seconds}s'\n{load}\n"
    );
    let mut plan = Plan::parse(&text).unwrap();
    plan.workload = Some(TypedWorkload { script: Some(script.to_owned()), ..TypedWorkload::default() });
    let memory = MemoryTarget::new();
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(2, Service::Fixed(Duration::from_micros(100)));
    let simulated = SimulatedTarget::new(memory.clone(), &clock, device);
    let plan = plan.resolve().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut run = CollectedRun::new(&plan, &[Arc::new(simulated)], &clock);
    assert_eq!(run.end, Ok(RunEnd::CLEAN));
    assert_eq!(memory.names(), Vec::<String>::new());
    (run.steps.pop().unwrap(), run.failures)
}

fn count(measure: &Measure, kind: &str) -> u64 {
    measure.load.transactions.iter().find(|part| part.name == kind).map_or(0, |part| part.count)
}

const PASS: &str = r#"
Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 7 NT_STATUS_OK
Close 7 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x1 8 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\*" 260 1366 0 NT_STATUS_NO_SUCH_FILE
NTCreateX "\clients\client1\a" 0x40 0x2 8 NT_STATUS_OK
WriteX 8 0 65536 65536 NT_STATUS_OK
LockX 8 0 1 NT_STATUS_OK
ReadX 8 61440 8192 4096 NT_STATUS_OK
UnlockX 8 0 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 8 258 NT_STATUS_OK
SET_FILE_INFORMATION 8 1004 NT_STATUS_OK
Flush 8 NT_STATUS_OK
Close 8 NT_STATUS_OK
NTCreateX "\clients\client1\A" 0x40 0x2 9 NT_STATUS_OBJECT_NAME_COLLISION
Rename "\clients\client1\a" "\clients\client1\b" NT_STATUS_OK
NTCreateX "\clients\client1\b" 0x40 0x5 9 NT_STATUS_OK
ReadX 9 0 100 0 NT_STATUS_END_OF_FILE
Close 9 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\b" 1004 NT_STATUS_OK
Unlink "\clients\client1\a" 0x6 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_FS_INFORMATION 1 NT_STATUS_OK
"#;

#[test]
fn lines_that_end_as_the_file_says_are_transactions_whatever_that_is() {
    let (step, reported) = replay(PASS, 1, "");
    let measure = &step.measure;
    assert!(reported.is_empty() && measure.errors.is_empty(), "{reported:?}");
    assert_eq!(measure.verified, measure.bytes.read);
    assert_eq!(measure.wire.unwrap().payload(), measure.bytes.total());
    let flushes = count(measure, "Flush");
    assert!(flushes > 100, "{flushes}");
    // Every line once per occurrence in each pass of the two users, except for the passes at the edges.
    for (kind, times) in [
        ("NTCreateX", 5),
        ("ReadX", 2),
        ("Close", 2),
        ("LockX", 1),
        ("UnlockX", 1),
        ("QUERY_FS_INFORMATION", 1),
    ] {
        let low = (flushes - 2) * times;
        let high = (flushes + 2) * times;
        assert!((low..=high).contains(&count(measure, kind)), "{kind}: {}", count(measure, kind));
    }
    let failed = measure.load.operations.iter().any(|part| !part.errors.is_empty());
    assert!(!failed, "a failure that is expected is none: {:?}", measure.load.operations);
    // Directories are not kept open, which is counted and reported.
    let left: Vec<&str> = measure.load.left_out.keys().map(String::as_str).collect();
    assert_eq!(left, ["Close: directories are not kept open"]);
    let check = step.checks.iter().find(|check| check.name == "left out").unwrap();
    assert!(check.verdict == Verdict::Valid && check.detail.contains("directories"), "{}", check.detail);
    assert!(measure.load.transactions.iter().all(|part| part.name != "restore"));
}

#[test]
fn what_a_pass_changes_is_put_back_before_the_next_as_a_transaction_of_its_own() {
    let script = r#"
NTCreateX "\lib\big" 0x40 0x1 1 NT_STATUS_OK
ReadX 1 4096 65536 10000 NT_STATUS_OK
WriteX 1 0 512 512 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\new" 0x40 0x2 2 NT_STATUS_OK
Unlink "\lib\big" 0x6 NT_STATUS_OK
"#;
    let (step, reported) = replay(script, 1, "");
    let measure = &step.measure;
    assert!(reported.is_empty() && measure.errors.is_empty(), "{reported:?}");
    let restored = count(measure, "restore");
    let made = count(measure, "Unlink");
    assert!(restored > 25 && restored.abs_diff(made) <= 2, "{restored} of {made}");
    assert_eq!((measure.verified, measure.bytes.read % 10_000), (measure.bytes.read, 0));
}

#[test]
fn time_stamps_decide_when_lines_start_and_a_late_line_is_not_hurried() {
    let script = "7.0 QUERY_FS_INFORMATION 1 NT_STATUS_OK\n7.1 QUERY_FS_INFORMATION 1 NT_STATUS_OK\n\
                  7.25 QUERY_FS_INFORMATION 1 NT_STATUS_OK\n";
    let (step, _) = replay(script, 4, "");
    // A pass lasts a quarter of a second and its last line; two users, three lines, four seconds.
    let passes = step.measure.transactions as f64 / 6.0;
    assert!((15.3..=16.4).contains(&passes), "{passes}");
    assert_eq!(step.verdict(), Verdict::Valid, "{:?}", step.checks);
    let (step, _) = replay(script, 4, "think = '1s'");
    assert!((7..=9).contains(&step.measure.transactions), "{}", step.measure.transactions);
}

#[test]
fn what_does_not_end_as_the_file_says_is_an_error_with_its_line_and_what_hangs_on_it_is_left_out() {
    let script = r#"
Mkdir "\a" NT_STATUS_OK
Mkdir "\a" NT_STATUS_OK
NTCreateX "\b" 0x40 0x2 1 NT_STATUS_OK
NTCreateX "\b" 0x40 0x2 2 NT_STATUS_OK
WriteX 2 0 10 10 NT_STATUS_OK
Close 2 NT_STATUS_OK
Mkdir "\c" NT_STATUS_OBJECT_NAME_COLLISION
Close 1 *
"#;
    let (step, reported) = replay(script, 1, "think = '10ms'");
    let errors = &step.measure.errors;
    assert!(errors[&ErrorClass::Exists] > 20 && errors[&ErrorClass::Io] > 10, "{errors:?}");
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(step.verdict(), Verdict::Invalid);
    let is_reported = |line: &str, why: &str| reported.iter().any(|t| t.contains(line) && t.contains(why));
    assert!(
        is_reported("line 3 of the loadfile", "exists") && is_reported("line 5 of", "exists"),
        "{reported:?}"
    );
    assert!(is_reported("line 8 of", "NT_STATUS_OBJECT_NAME_COLLISION was expected"), "{reported:?}");
    let left: Vec<&str> = step.measure.load.left_out.keys().map(String::as_str).collect();
    assert_eq!(left, ["Close: its file did not open", "WriteX: its file did not open"]);
}
