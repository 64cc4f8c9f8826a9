//! The semaphore of all users as a step of transactions: one user at a time has its unit, which no failure takes away.

use std::collections::BTreeMap;

use sharebench_doubles::MemoryTarget;
use sharebench_model::{ErrorClass, RunOutcome};

use crate::load_locks::{USERS, WINDOW_MS, assert_once_per_transaction, count, execute, failing, plan};

#[test]
fn one_user_at_a_time_has_the_unit() {
    for keep in [false, true] {
        let target = MemoryTarget::new();
        let ran = execute(&plan(keep, &["'wait', 'think 1ms', 'signal'"]), target.clone());
        assert_eq!(ran.outcome, RunOutcome::Complete);
        let step = &ran.steps[0];
        assert!(step.measure.errors.is_empty(), "{:?}", step.measure.errors);
        // Each has the unit for a millisecond at least.
        let done = step.measure.transactions;
        assert!(done > 0 && done <= WINDOW_MS + USERS, "{done}");
        for kind in ["wait", "signal"] {
            assert_once_per_transaction(step, kind);
        }
        assert_eq!(target.names(), Vec::<String>::new());
    }
}

#[test]
fn a_transaction_that_fails_with_the_unit_returns_it_also_without_its_session() {
    // With the session the unit is lost at the server, and the users take the next semaphore.
    for class in [ErrorClass::Io, ErrorClass::Disconnected] {
        let target = MemoryTarget::new();
        let faulty = failing(target.clone(), class);
        let work = "'wait', 'open', 'read 4KiB', 'close', 'signal'";
        let ran = execute(&plan(false, &[work]), faulty);
        assert_eq!(ran.outcome, RunOutcome::Complete);
        let measure = &ran.steps[0].measure;
        assert_eq!(measure.errors.keys().collect::<Vec<_>>(), [&class]);
        assert!(measure.transactions > 0);
        let failed: u64 = measure.load.transactions[0].errors.values().sum();
        let waits = count(&measure.load, "wait");
        assert!(waits.abs_diff(measure.transactions + failed) <= USERS, "{waits} {failed}");
        let errors = measure.load.operations.iter().find(|part| part.name == "wait").map(|part| &part.errors);
        assert!(errors.is_some_and(BTreeMap::is_empty), "{errors:?}");
        assert_eq!(target.names(), Vec::<String>::new());
    }
}
