//! Notifications as steps of transactions: what counts as the report of a change, and what is not waited for.

use sharebench_doubles::MemoryTarget;
use sharebench_model::{ErrorClass, MetaReply, RunOutcome, SessionOp};
use sharebench_target::{Alteration, Altered, LocalBoxFuture, Session};

use crate::load_locks::{USERS, assert_once_per_transaction, count, execute, failing, plan};

const SAVE: &str = "'watch', 'create', 'notify', 'write 4KiB', 'close', 'watch', 'delete', 'notify'";

/// The plan with a directory for each user.
fn own(plan: &str) -> String {
    plan.replace("size = '64KiB'", "size = '64KiB'\nowner = 'user'\ncount = 3\nfan_out = 1\ndepth = 1")
}

#[test]
fn each_change_is_reported_to_the_user_who_made_it() {
    for keep in [false, true] {
        let shared = plan(keep, &[SAVE]);
        // Renames without a watch leave reports, which are not those of the renames that follow.
        let renamed = plan(keep, &["'rename'", "'watch', 'rename', 'notify'", SAVE]);
        for text in [shared.clone(), own(&shared), own(&renamed)] {
            let target = MemoryTarget::new();
            let ran = execute(&text, target.clone());
            assert_eq!(ran.outcome, RunOutcome::Complete);
            let step = &ran.steps[0];
            assert!(step.measure.errors.is_empty(), "{text}: {:?}", step.measure.errors);
            assert!(step.measure.transactions > 0);
            let [watches, reports, deleted] =
                ["watch", "notify", "delete"].map(|kind| count(&step.measure.load, kind));
            assert!(reports > 0 && watches.abs_diff(reports) <= USERS, "{watches} {reports}");
            let renames = step.measure.load.transactions.get(1).map_or(0, |renames| renames.count);
            assert!(reports.abs_diff(2 * deleted + renames) <= 2 * USERS, "{reports} {deleted} {renames}");
            // Priming is not counted.
            assert!(count(&step.measure.load, "create").abs_diff(deleted) <= USERS);
            assert_eq!(target.names(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_transaction_that_fails_after_its_request_leaves_none() {
    let target = MemoryTarget::new();
    let faulty = failing(target.clone(), ErrorClass::Io);
    let ran =
        execute(&plan(false, &["'create', 'watch', 'write 4KiB', 'close', 'delete', 'notify'"]), faulty);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let step = &ran.steps[0];
    assert_eq!(step.measure.errors.keys().collect::<Vec<_>>(), [&ErrorClass::Io]);
    assert_once_per_transaction(step, "notify");
    assert_eq!(target.names(), Vec::<String>::new());
}

/// A server that reports the first changes only.
#[derive(Clone, Default)]
struct Silent {
    reports: u32,
}

impl Alteration for Silent {
    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        if matches!(op, SessionOp::AwaitChange { .. }) {
            self.reports += 1;
            if self.reports > 4 {
                return Box::pin(std::future::pending());
            }
        }
        memory.call(op)
    }
}

#[test]
fn a_report_that_does_not_arrive_is_a_failed_operation() {
    let target = MemoryTarget::new();
    let text = plan(false, &[SAVE]).replace("verify = 'full'", "verify = 'full'\ntimeout = '1s'");
    let ran = execute(&text, Altered::new(target.clone(), Silent::default()));
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let measure = &ran.steps[0].measure;
    assert_eq!(measure.errors.keys().collect::<Vec<_>>(), [&ErrorClass::Timeout]);
    let notify = measure.load.operations.iter().find(|part| part.name == "notify");
    let failed = notify.and_then(|part| part.errors.get(&ErrorClass::Timeout));
    assert!(failed.is_some_and(|failed| *failed > 0), "{notify:?}");
    assert_eq!(target.names(), Vec::<String>::new());
}
