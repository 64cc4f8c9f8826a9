//! The windows of a load's step, one after the other: the next is twice as long, while the load is not steady.

use sharebench_model::Verdict;
use sharebench_plan::TransactionWork;

use crate::clock::Clock;
use crate::load_step::GRACE;
use crate::motor::Window;
use crate::schedule::Schedule;
use crate::seconds::Seconds;
use crate::stop::StopSignal;
use crate::tally::Tally;

/// What one thread's motors say of a window that has ended.
#[derive(Debug, Default)]
pub(crate) struct Report {
    seconds: Seconds,
    failed: bool,
}

impl Report {
    /// Of the window that `tally` counted.
    pub fn of(tally: &Tally) -> Self {
        Self { seconds: tally.seconds.clone(), failed: !tally.errors.is_empty() }
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Self) {
        self.seconds.merge(&other.seconds);
        self.failed |= other.failed;
    }
}

/// Decides on the next window. Each has its own warm-up and leaves out what was before: a mean over two levels
/// would be neither (docs/adr/0019).
pub(crate) struct Extension<'a> {
    pub work: &'a TransactionWork,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub schedule: &'a Schedule,
    /// Hears why the step goes on.
    pub tell: &'a dyn Fn(String),
    /// How often it has gone on.
    pub extensions: u32,
}

impl Extension<'_> {
    /// The first window, or the one after `report`; none when that was the last.
    pub fn next(&mut self, report: Option<&Report>) -> Option<Window> {
        if let Some(report) = report {
            // A window with failures is never replaced by one without: it would hide them.
            if report.failed || self.stop.is_stopped() || self.extensions >= self.work.extend {
                return None;
            }
            let check = report.seconds.check(self.work).filter(|check| check.verdict != Verdict::Valid)?;
            self.extensions += 1;
            let window = self.work.window(self.extensions);
            (self.tell)(format!("goes on for {window:?}: {}", check.detail));
            self.schedule.restart();
        }
        let start = self.clock.now() + GRACE.as_nanos() as u64;
        let measure = start + self.work.warm_up.as_nanos() as u64;
        Some(Window { start, measure, end: measure + self.work.window(self.extensions).as_nanos() as u64 })
    }
}
