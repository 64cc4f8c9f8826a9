//! Progress of a running load: a few events per second for live view and monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

use sharebench_model::RunEvent;
use sharebench_plan::StepPlan;

use crate::record::tally::Tally;

/// Minimum time between two progress events.
const PROGRESS_INTERVAL_NS: u64 = 250_000_000;

/// The progress of a step as sums over its threads. Each thread adds its counts at intervals and outside
/// transactions, so that reporting costs the measured path nothing.
pub(crate) struct LoadObserver<'a> {
    send: &'a (dyn Fn(RunEvent) + Sync),
    step: &'a StepPlan,
    operations: AtomicU64,
    transactions: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
    /// Users that are ready, and how many there will be.
    users: AtomicU64,
    last_progress_ns: AtomicU64,
}

/// The counts of a thread that its last progress report contained.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReportedCounts {
    operations: u64,
    transactions: u64,
    bytes: u64,
    failures: u64,
}

impl<'a> LoadObserver<'a> {
    /// The progress of a step to which `present` users have stayed logged on.
    pub fn new(send: &'a (dyn Fn(RunEvent) + Sync), step: &'a StepPlan, now: u64, present: u32) -> Self {
        let none = || AtomicU64::new(0);
        Self {
            send,
            step,
            operations: none(),
            transactions: none(),
            bytes: none(),
            failures: none(),
            users: AtomicU64::new(present.into()),
            last_progress_ns: AtomicU64::new(now),
        }
    }

    /// True for one caller per interval, whichever thread comes first.
    fn is_due(&self, now: u64) -> bool {
        let reported = self.last_progress_ns.load(Ordering::Relaxed);
        now.saturating_sub(reported) >= PROGRESS_INTERVAL_NS
            && self
                .last_progress_ns
                // Of several threads for which the interval has passed, one wins and reports.
                .compare_exchange(reported, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Counts a user that has its session and its files, and reports the progress of the logins.
    pub fn ready(&self, now: u64, of: u32) {
        let done = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        if self.is_due(now) {
            let target = self.step.target;
            (self.send)(RunEvent::Preparing { target, what: "users ready", done, of: u64::from(of) });
        }
    }

    /// Adds what a thread counted since its last report, and sends a progress event if one is due.
    pub fn note(&self, now: u64, tally: &Tally, said: &mut ReportedCounts) {
        let counted = ReportedCounts {
            operations: tally.operations,
            transactions: tally.transactions,
            bytes: tally.bytes.total(),
            failures: tally.errors.values().sum(),
        };
        let before = std::mem::replace(said, counted);
        let add = |sum: &AtomicU64, now: u64, before: u64| {
            sum.fetch_add(now.saturating_sub(before), Ordering::Relaxed) + now.saturating_sub(before)
        };
        let operations = add(&self.operations, counted.operations, before.operations);
        let transactions = add(&self.transactions, counted.transactions, before.transactions);
        let bytes = add(&self.bytes, counted.bytes, before.bytes);
        let failures = add(&self.failures, counted.failures, before.failures);
        if self.is_due(now) {
            let index = self.step.index;
            let users = self.users.load(Ordering::Relaxed);
            (self.send)(RunEvent::Progress { index, operations, bytes, transactions, failures, users });
        }
    }
}
