//! Locks, denied files, rights to cache, notifications and semaphores as steps of transactions: who waits for whom, what is counted, and that nothing stays locked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::{Fault, FaultyTarget, MemoryTarget};
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{
    ErrorClass, LoadDetail, Measure, MetaReply, RunOutcome, SessionOp, StepError, StepResult,
};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::{Alteration, Altered, LocalBoxFuture, Session, Target};

mod notifications;
mod rights;
mod semaphores;

use crate::metadata::replies::rejected;

/// Length of the window in milliseconds.
const WINDOW_MS: u64 = 1500;
const USERS: u64 = 4;

fn plan(keep: bool, transactions: &[&str]) -> String {
    let transaction = |(number, operations): (usize, &&str)| {
        format!("[[workload.transactions]]\nname = 't{number}'\noperations = [{operations}]\n")
    };
    let transactions: String = transactions.iter().enumerate().map(transaction).collect();
    format!(
        "seed = 7\nverify = 'full'\n[[target]]\nurl = '/a'\n[load]\nusers = [{USERS}]\nthink = '0ms'\nwarm_up = '50ms'\n\
         measure = '{WINDOW_MS}ms'\nkeep_users = {keep}\n[workload]\nname = 'locks'\n[[workload.files]]\nname = 'f'\n\
         size = '64KiB'\n{transactions}"
    )
}

struct Ran {
    outcome: RunOutcome,
    steps: Vec<StepResult>,
}

fn execute(text: &str, target: impl Target + 'static) -> Ran {
    execute_at(text, target, &Clock::start())
}

#[expect(clippy::unwrap_used, reason = "plans of these tests are right")]
fn execute_at(text: &str, target: impl Target + 'static, clock: &Clock) -> Ran {
    let plan = Plan::parse(text).unwrap().resolve().unwrap();
    let run = CollectedRun::new(&plan, &[Arc::new(target)], clock);
    Ran { outcome: run.end.unwrap().outcome, steps: run.steps }
}

/// The first step without an error at a simulated server, and what that server holds.
fn measured_at(text: &str, device: Device) -> (Measure, MemoryTarget) {
    let clock = Clock::virtual_at(0);
    let memory = MemoryTarget::new();
    let mut ran = execute_at(text, SimulatedTarget::new(memory.clone(), &clock, device), &clock);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let measure = ran.steps.remove(0).measure;
    assert!(measure.errors.is_empty(), "{:?}", measure.errors);
    (measure, memory)
}

/// A target of which each session fails every tenth data operation, later than those that lay out the data set.
fn failing(target: MemoryTarget, class: ErrorClass) -> FaultyTarget<MemoryTarget> {
    let numbers = (39..40_000).step_by(10);
    numbers.fold(FaultyTarget::new(target), |faulty, nth| faulty.data(nth, Fault::Fail(class)))
}

fn count(detail: &LoadDetail, kind: &str) -> u64 {
    detail.operations.iter().filter(|part| part.name == kind).map(|part| part.count).sum()
}

/// Transactions may have begun before the window or end after it, one of each user.
fn assert_once_per_transaction(step: &StepResult, kind: &str) {
    let counted = count(&step.measure.load, kind);
    assert!(
        counted.abs_diff(step.measure.transactions) <= USERS,
        "{kind}: {counted} of {}",
        step.measure.transactions
    );
}

/// A target whose protocol has none of the operations that others wait for.
#[derive(Clone)]
struct Lacking;

impl Alteration for Lacking {
    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        match op {
            SessionOp::Basic(op) => memory.call(op),
            _ => Box::pin(std::future::ready(rejected(ErrorClass::Unsupported, "no such request"))),
        }
    }
}

const EDIT: &str = "'open write', 'lock', 'think 1ms', 'read all', 'write all', 'unlock', 'close'";
const EDIT_OWN: &str = "'open write', 'lock own', 'think 1ms', 'read all', 'write all', 'unlock', 'close'";

#[test]
fn one_user_at_a_time_has_the_range_that_all_lock() {
    for keep in [false, true] {
        let target = MemoryTarget::new();
        let ran = execute(&plan(keep, &[EDIT]), target.clone());
        assert_eq!(ran.outcome, RunOutcome::Complete);
        let step = &ran.steps[0];
        assert!(step.measure.errors.is_empty(), "{:?}", step.measure.errors);
        // Each holds the lock for a millisecond at least.
        let done = step.measure.transactions;
        assert!(done > 0 && done <= WINDOW_MS + USERS, "{done}");
        for kind in ["open", "lock", "unlock", "read", "write", "close"] {
            assert_once_per_transaction(step, kind);
        }
        assert_eq!(step.measure.verified, step.measure.bytes.read);
        assert_eq!(step.measure.bytes.read, 4096 * count(&step.measure.load, "read"));
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn users_of_neighbouring_ranges_and_of_whole_files_finish_without_errors() {
    let reads = "'open', 'read 4KiB random x4', 'close'";
    for transactions in [&[EDIT_OWN, EDIT, reads][..], &["'open deny', 'write 4KiB', 'close'"]] {
        let target = MemoryTarget::new();
        let ran = execute(&plan(false, transactions), target.clone());
        assert_eq!(ran.outcome, RunOutcome::Complete);
        let step = &ran.steps[0];
        assert!(step.measure.errors.is_empty(), "{transactions:?}: {:?}", step.measure.errors);
        assert!(step.measure.transactions > 0);
        // Writes leave the file as it was, so that whoever reads it finds what it should hold.
        assert_eq!(step.measure.verified, step.measure.bytes.read);
        assert_once_per_transaction(step, "open");
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn a_transaction_that_fails_while_it_holds_the_lock_releases_it() {
    let target = MemoryTarget::new();
    // Every tenth request for data of each session fails, half of them reads and half of them writes.
    let faulty = (9..1_000_000).step_by(10).fold(FaultyTarget::new(target.clone()), |faulty, nth| {
        faulty.data(nth + nth / 10 % 2, Fault::Fail(ErrorClass::Io))
    });
    let ran = execute(&plan(false, &[EDIT]), faulty);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let measure = &ran.steps[0].measure;
    assert_eq!(measure.errors.keys().collect::<Vec<_>>(), [&ErrorClass::Io]);
    // Those of the warm-up are errors of the step as well.
    let failed: u64 = measure.load.transactions[0].errors.values().sum();
    let locks = count(&measure.load, "lock");
    assert!(failed > 0 && locks.abs_diff(measure.transactions + failed) <= USERS, "{failed} {locks}");
    let lock_errors =
        measure.load.operations.iter().find(|part| part.name == "lock").map(|part| &part.errors);
    assert!(lock_errors.is_some_and(BTreeMap::is_empty), "{lock_errors:?}");
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_target_without_locks_ends_the_run_before_its_data_set_and_the_error_names_the_step() {
    for (transaction, step) in [
        (EDIT, "'lock' of the transaction 't0'"),
        ("'open deny', 'close'", "'open deny' of the transaction 't0'"),
        ("'open leased', 'close'", "'open leased' of the transaction 't0'"),
        ("'open delegated', 'close'", "'open delegated' of the transaction 't0'"),
        ("'watch', 'create', 'notify', 'close', 'delete'", "'watch' of the transaction 't0'"),
        ("'wait', 'signal'", "'wait' of the transaction 't0'"),
    ] {
        let target = MemoryTarget::new();
        let ran = execute(&plan(false, &[transaction]), Altered::new(target.clone(), Lacking));
        let RunOutcome::Incomplete(StepError::TargetLost { reason, .. }) = &ran.outcome else {
            panic!("{:?}", ran.outcome)
        };
        assert!(reason.contains(step) && reason.contains("unsupported"), "{reason}");
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

/// In virtual time a user holds the range for exactly its requests and its pause, so that the wait of the others is known.
#[test]
fn the_time_of_a_lock_is_the_wait_for_those_who_hold_the_range() {
    let request = Duration::from_micros(100);
    let device = Device::new(1).service_center(64, Service::Fixed(request));
    let preset = Plan::from_preset("locks").unwrap().to_toml();
    let (_, edit) = preset.split_once("[workload]").unwrap_or_default();
    // The first of the two transactions.
    let (edit, _) = edit.rsplit_once("[[workload.transactions]]").unwrap_or_default();
    let text = format!(
        "seed = 7\n[[target]]\nurl = '/a'\n[load]\nworkload = 'locks'\nusers = [{USERS}]\nthink = 'exp 2ms'\nwarm_up = '1s'\n\
         measure = '20s'\n[workload]{edit}"
    );
    let (measure, memory) = measured_at(&text, device);
    // Each holder pauses for 1 ms and writes for 0.1 ms; operations on names take no time here. So the range is held by one user
    // at a time for 1.1 ms, and free for the pause between two requests at most.
    let done = measure.transactions;
    assert!((12_000..=20_000 * 10 / 11 + 1).contains(&done), "{done}");
    assert_eq!(measure.users_reported, USERS as u32);
    assert!(measure.load.fairness.index().is_some_and(|index| index > 0.9), "{:?}", measure.load.fairness);
    // A closed queue of four users who think for 2 ms and are served for 1.1 ms waits for 1.7 ms by mean value analysis, which
    // overestimates a service time that is constant.
    let lock = measure.load.operations.iter().find(|part| part.name == "lock");
    let mean = lock.map_or(0, |part| part.service.mean() as u64);
    assert!((800_000..=2_000_000).contains(&mean), "{mean}");
    assert_eq!(memory.names(), Vec::<String>::new());
}
