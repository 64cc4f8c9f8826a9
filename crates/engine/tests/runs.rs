//! Whole runs on doubles: what is measured, what is reported, and which leftovers remain.

use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sharebench_doubles::{Fault, FaultyTarget, MemoryTarget};
use sharebench_engine::{Clock, CollectedRun, Run, StartError, StopSignal};
use sharebench_model::{ErrorClass, RunEvent, RunOutcome, StepError, StepResult, Value, Verdict};
use sharebench_plan::{Plan, ResolvedPlan, Work};
use sharebench_target::Target;

const SWEEP: &str =
    "seed = 7\nrepetitions = 2\nmin_sample_time = '1ms'\ntimeout = '500ms'\n[[target]]\nurl = '/a'\n
[sweep]\nfile_sizes = ['8KiB', '64KiB']\nrecord_sizes = ['512', '4KiB']\n";
const DEPTH: &str =
    "seed = 7\nrepetitions = 1\nmin_sample_time = '1ms'\nverify = 'full'\n[[target]]\nurl = '/a'\n
[depth]\nfile_size = '1MiB'\nrecord_sizes = ['1000', '4000']\ndepths = [1, 7, 32]\n";
// Windows in which users complete transactions even if the machine stops for a second.
const LOAD: &str = "seed = 7\ntimeout = '500ms'\n[[target]]\nurl = '/a'\n
[load]\nusers = [1, 5]\nthink = '5ms'\nwarm_up = '20ms'\nmeasure = '2s'\nscale = '100KB'\nblock = '1000'\n";

#[expect(clippy::unwrap_used, reason = "plans of these tests are right")]
fn plan(text: &str) -> ResolvedPlan {
    // The depth test's file must be a multiple of its records.
    Plan::parse(&text.replace("'1MiB'", "'1000000'")).unwrap().resolve().unwrap()
}

fn execute(
    text: &str,
    target: impl Target + 'static,
    done: &[StepResult],
    stop: &StopSignal,
) -> CollectedRun {
    execute_on(text, &[Arc::new(target)], done, stop)
}

fn execute_on(
    text: &str,
    targets: &[Arc<dyn Target>],
    done: &[StepResult],
    stop: &StopSignal,
) -> CollectedRun {
    CollectedRun::until(&plan(text), targets, &Clock::start(), stop, done)
}

fn all(text: &str, target: impl Target + 'static) -> CollectedRun {
    execute(text, target, &[], &StopSignal::default())
}

#[test]
fn a_sweep_measures_every_step_verifies_every_byte_and_leaves_nothing() {
    let target = MemoryTarget::new();
    let ran = all(SWEEP, target.clone());
    assert_eq!(ran.end.unwrap().outcome, RunOutcome::Complete);
    assert_eq!(ran.steps.len(), 2 * 2 * 2 * 6);
    for step in &ran.steps {
        let measure = &step.measure;
        let file = step.coordinates.number("file_size").unwrap();
        let record = step.coordinates.number("record_size").unwrap();
        assert_eq!(measure.operations % (file / record), 0, "whole passes only: {}", step.coordinates);
        assert_eq!(measure.bytes.total(), measure.operations * record);
        assert_eq!(measure.verified, measure.bytes.read);
        assert_eq!(measure.service.len(), measure.operations);
        assert!(measure.busy_ns > 0 && measure.busy_ns <= measure.window_ns);
        assert_eq!(measure.wire.map(|wire| wire.requests), Some(measure.operations), "{}", step.coordinates);
        assert_eq!(step.checks.iter().find(|check| check.verdict == Verdict::Invalid), None);
        for name in ["errors", "bytes", "little", "participation", "ceiling", "threads", "hiccups", "clock"] {
            assert!(step.checks.iter().any(|check| check.name == name), "no {name}: {:?}", step.checks);
        }
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn records_of_odd_sizes_at_depth_are_right_to_the_byte() {
    let ran = all(DEPTH, MemoryTarget::new());
    assert_eq!(ran.end.unwrap().outcome, RunOutcome::Complete);
    assert_eq!(ran.steps.len(), 2 * 3 * 4);
    assert!(ran.steps.iter().all(|step| step.measure.errors.is_empty()), "{:?}", ran.failures);
    assert!(ran.steps.iter().any(|step| step.coordinates.get("queue_depth") == Some(&Value::Count(32))));
}

#[test]
fn users_copy_report_and_leave_nothing() {
    let target = MemoryTarget::new();
    let ran = all(LOAD, target.clone());
    assert_eq!(ran.end.unwrap().outcome, RunOutcome::Complete, "{:?}", ran.failures);
    for (step, users) in ran.steps.iter().zip([1, 5]) {
        assert_eq!((step.measure.users_assigned, step.measure.users_reported), (users, users));
        assert!(
            step.measure.transactions > 0 && step.measure.bytes.read > 0 && step.measure.bytes.written > 0
        );
        assert_eq!(step.measure.window_ns, 2_000_000_000);
        assert_eq!(step.measure.verified, step.measure.bytes.read);
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn users_who_stay_logged_on_copy_report_and_leave_nothing() {
    // Without pauses every reply is there at once, and no user waits for anything.
    for (shared, think) in [(1, "5ms"), (2, "5ms"), (1, "0ms")] {
        let target = MemoryTarget::new();
        let kept = format!("users_per_session = {shared}\nkeep_users = true\n");
        // What is outside a window happens in the warm-up, which has to be long enough for it on a busy machine.
        let load = LOAD.replace("[1, 5]", "[1, 6, 3]").replace("5ms", think).replace("20ms", "500ms");
        let text = format!("{load}{kept}");
        let ran = all(&text, target.clone());
        assert_eq!(ran.end.unwrap().outcome, RunOutcome::Complete, "{:?}", ran.failures);
        for (step, users) in ran.steps.iter().zip([1, 6, 3]) {
            let measure = &step.measure;
            assert_eq!((measure.users_assigned, measure.users_reported), (users, users));
            assert_eq!(measure.window_ns, 2_000_000_000);
            assert_eq!(measure.verified, measure.bytes.read);
            assert!(measure.bytes.read > 0 && measure.bytes.written > 0);
            assert!(
                measure.load.outside.is_some_and(|outside| outside.operations > 0),
                "{}",
                step.coordinates
            );
        }
        let series = ran.steps[2].checks.iter().find(|check| check.name == "series").unwrap();
        assert_eq!((ran.steps.len(), series.verdict), (3, Verdict::Valid), "{}", series.detail);
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn stale_zero_and_shifted_data_is_always_caught() {
    for fault in [Fault::Stale, Fault::Zero, Fault::Shift(100)] {
        // Every fifth data operation, among them reads of every kind.
        let faulty = FaultyTarget::new(MemoryTarget::new());
        let target = (60..100_000).step_by(5).fold(faulty, |target, nth| target.data(nth, fault));
        let ran = all(SWEEP, target);
        let caught: u64 = ran
            .steps
            .iter()
            .map(|step| step.measure.errors.get(&ErrorClass::DataMismatch).copied().unwrap_or(0))
            .sum();
        assert!(
            caught > 50,
            "{fault:?}: {caught}, {:?}, {} steps, {:?}",
            ran.end,
            ran.steps.len(),
            ran.failures
        );
        for step in ran.steps.iter().filter(|step| !step.measure.errors.is_empty()) {
            assert_eq!(step.verdict(), Verdict::Invalid);
        }
        assert!(ran.failures.iter().any(|failure| failure.contains("at offset")), "{:?}", ran.failures);
    }
}

#[test]
fn a_lost_write_is_caught_by_the_next_read() {
    let ran = all(
        SWEEP,
        (0..2000)
            .step_by(3)
            .fold(FaultyTarget::new(MemoryTarget::new()), |target, nth| target.data(nth, Fault::LoseWrite)),
    );
    assert!(ran.steps.iter().any(|step| step.measure.errors.contains_key(&ErrorClass::DataMismatch)));
}

#[test]
fn a_lost_server_ends_the_run_keeps_steps_and_cleans_up_over_a_new_session() {
    let target = MemoryTarget::new();
    // At whatever speed: more than the first step has, and less than the run, whose passes alone have 73,728. The
    // second session lives long enough to clean.
    let plan =
        SWEEP.replace("['8KiB', '64KiB']", "['1024KiB', '2MiB']").replace("['512', '4KiB']", "['512']");
    let ran = all(&plan, FaultyTarget::new(target.clone()).disconnect_after(40_000));
    let end = ran.end.unwrap();
    assert!(
        matches!(&end.outcome, RunOutcome::Incomplete(StepError::TargetLost { reason: why, .. }) if why.contains("disconnected")),
        "{:?}",
        end.outcome
    );
    assert!(!ran.steps.is_empty() && end.leftovers.is_empty());
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_silent_server_is_a_timeout_and_not_a_hang() {
    let target = MemoryTarget::new();
    let ran = all(SWEEP, FaultyTarget::new(target.clone()).data(100, Fault::Never));
    let end = ran.end.unwrap();
    assert!(
        matches!(&end.outcome, RunOutcome::Incomplete(StepError::TargetLost { reason: why, .. }) if why.contains("timeout")),
        "{:?}",
        end.outcome
    );
    assert_eq!(target.names(), Vec::<String>::new());
}

/// In real time, on threads: windows too short to judge are extended up to the maximum, each twice as long.
#[test]
fn a_step_that_extended_can_be_stopped_and_the_run_resumed_with_what_other_steps_have() {
    let mut plan = plan(LOAD);
    let extend = |plan: &mut ResolvedPlan, most| {
        let Work::Transactions(work) = &mut plan.loads[1].1 else { panic!("no load") };
        // Short, but long enough for a machine that stops during the last one.
        (work.measure, work.max_extensions) = (Duration::from_millis(500), most);
    };
    // A plan as typed could not say this: its longest window cannot be judged.
    extend(&mut plan, 3);
    let stop = StopSignal::default();
    let target = MemoryTarget::new();
    let run = |plan: &ResolvedPlan, done: &[StepResult], stop: &StopSignal, hear: &dyn Fn(&RunEvent)| {
        let targets = [Arc::new(target.clone()) as Arc<dyn Target>];
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || {
                let clock = &Clock::start();
                let targets = &targets;
                let events = &sender;
                let directory = ".sharebench-test";
                Run { plan, targets, done, directory, resumed: false, stop, clock, events, ranks: None }
                    .execute()
            });
            let events: Vec<RunEvent> = receiver.iter().inspect(|event| hear(event)).collect();
            (running.join().unwrap().unwrap().outcome, events)
        })
    };
    let finished = |events: &[RunEvent]| -> Vec<StepResult> {
        let step = |event: &RunEvent| match event {
            RunEvent::StepFinished(step) => Some((**step).clone()),
            _ => None,
        };
        events.iter().filter_map(step).collect()
    };
    let extended = |event: &RunEvent| matches!(event, RunEvent::Warning(why) if why.contains("extended by "));
    let (outcome, events) = run(&plan, &[], &stop, &|event| {
        if extended(event) {
            stop.stop();
        }
    });
    assert_eq!(outcome, RunOutcome::Incomplete(StepError::Stopped));
    let kept = finished(&events);
    assert_eq!(kept.iter().map(|step| step.index).collect::<Vec<_>>(), [0]);
    assert_eq!(target.names(), Vec::<String>::new());

    extend(&mut plan, 2);
    let (outcome, events) = run(&plan, &kept, &StopSignal::default(), &|_| ());
    assert_eq!(outcome, RunOutcome::Complete);
    assert_eq!(events.iter().filter(|event| extended(event)).count(), 2);
    let [rest] = &finished(&events)[..] else { panic!("one step is missing: {events:?}") };
    assert_eq!((rest.index, rest.measure.window_ns), (1, 2_000_000_000), "the last window, and it alone");
    assert!(rest.measure.transactions > 0 && rest.measure.users_reported == 5);
    assert_eq!(rest.measure.response.len(), rest.measure.transactions);
    let steady = rest.checks.iter().find(|check| check.name == "steady").unwrap();
    assert!(steady.verdict == Verdict::NotKnown && steady.detail.contains("cannot be judged"), "{steady:?}");
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_run_that_is_stopped_at_once_measures_nothing_and_leaves_nothing() {
    let target = MemoryTarget::new();
    let stop = StopSignal::default();
    stop.stop();
    let ran = execute(SWEEP, target.clone(), &[], &stop);
    assert_eq!(ran.end.unwrap().outcome, RunOutcome::Incomplete(StepError::Stopped));
    assert!(ran.steps.is_empty() && target.names().is_empty());
}

#[test]
fn a_resumed_run_measures_only_what_is_missing() {
    let done = all(SWEEP, MemoryTarget::new()).steps;
    let ran = execute(SWEEP, MemoryTarget::new(), &done[..40], &StopSignal::default());
    assert_eq!(ran.steps.iter().map(|step| step.index).collect::<Vec<_>>(), (40..48).collect::<Vec<_>>());
}

#[test]
fn a_full_volume_ends_the_run_with_the_free_space() {
    let target = FaultyTarget::new(MemoryTarget::new()).data(100, Fault::Fail(ErrorClass::NoSpace));
    let ran = all(SWEEP, target);
    let outcome = ran.end.unwrap().outcome;
    let RunOutcome::Incomplete(StepError::TargetLost { class: ErrorClass::NoSpace, reason }) = &outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(
        reason.contains("no space") && reason.contains("; free: ") && reason.contains("in step"),
        "{reason}"
    );
}

#[test]
fn what_exists_is_not_touched() {
    let target = MemoryTarget::new();
    let first = all(SWEEP, FaultyTarget::new(target.clone()).meta(3, ErrorClass::Refused));
    // The failure above hit the query for free space only; the directory and its marker were made and removed.
    assert_eq!(first.end.unwrap().outcome, RunOutcome::Complete);
    let refused = all(SWEEP, FaultyTarget::new(target.clone()).meta(0, ErrorClass::Exists));
    assert!(matches!(refused.end, Err(StartError::Prepare { .. })));
    let unmarked = all(SWEEP, FaultyTarget::new(target.clone()).meta(1, ErrorClass::NoSpace));
    assert!(matches!(unmarked.end, Err(StartError::Prepare { .. })), "a directory without its marker");
    assert_eq!(target.names(), Vec::<String>::new());
}

/// The cells that were measured on each of two targets, as (record size, queue depth).
fn measured_on(ran: &CollectedRun, target: u32) -> BTreeSet<(u64, u64)> {
    let cell = |step: &StepResult| {
        Some((step.coordinates.number("record_size")?, step.coordinates.number("queue_depth")?))
    };
    ran.steps.iter().filter(|step| step.target == target).filter_map(cell).collect()
}

#[test]
fn cells_beyond_a_negotiated_limit_are_skipped_on_this_target_and_measured_on_the_other() {
    let text = DEPTH.replace("url = '/a'\n", "url = '/a'\n[[target]]\nname = 'small'\nurl = '/b'\n");
    let small = MemoryTarget::new();
    let targets: [Arc<dyn Target>; 2] =
        [Arc::new(MemoryTarget::new()), Arc::new(FaultyTarget::new(small.clone()).max_transfer(2000))];
    let ran = execute_on(&text, &targets, &[], &StopSignal::default());
    assert_eq!(ran.end.as_ref().unwrap().outcome, RunOutcome::Complete, "{:?}", ran.failures);
    let all: BTreeSet<(u64, u64)> =
        [1000, 4000].into_iter().flat_map(|record| [1, 7, 32].map(|depth| (record, depth))).collect();
    let few = all.iter().copied().filter(|(record, _)| *record == 1000).collect();
    assert_eq!((measured_on(&ran, 0), measured_on(&ran, 1)), (all, few));
    assert!(ran.failures.is_empty(), "{:?}", ran.failures);
    let warning = "small: skipped 12 of 24 cells: one memory request carries at most 2000B, and records are never split";
    assert!(ran.warnings.iter().any(|known| known == warning), "{:?}", ran.warnings);
    assert_eq!(small.names(), Vec::<String>::new());
    // A resumed run skips the same cells and finds its order again.
    let steps = ran.steps;
    let resumed = execute_on(&text, &targets, &steps[..steps.len() - 3], &StopSignal::default());
    let indices = |steps: &[StepResult]| steps.iter().map(|step| step.index).collect::<Vec<_>>();
    assert_eq!(indices(&resumed.steps), indices(&steps[steps.len() - 3..]));
}

#[test]
fn a_target_that_can_measure_no_cell_is_rejected_and_left_as_it_was() {
    let small = MemoryTarget::new();
    let ran = all(DEPTH, FaultyTarget::new(small.clone()).max_transfer(512));
    let rejected = ran.end.unwrap_err().to_string();
    assert!(
        rejected.contains("no cell of the plan can be measured: one memory request carries at most 512B"),
        "{rejected}"
    );
    assert_eq!(small.names(), Vec::<String>::new());
}
