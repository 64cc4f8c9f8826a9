//! The windows of a load step. While the load is not in steady state, the next window is twice as long.

use std::sync::mpsc::RecvError;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sharebench_cluster::Ranks;
use sharebench_plan::TransactionWork;

use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::record::seconds::Seconds;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;
use crate::time::window::Window;

/// Time between the last user's login and the first transaction.
pub(crate) const GRACE: Duration = Duration::from_millis(20);

/// What the users of one thread, or of several after [`Self::merge`], did in a window that has ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WindowReport {
    seconds: Seconds,
    failed: bool,
}

impl WindowReport {
    /// The report of the window that `tally` counted.
    pub fn from_tally(tally: &Tally) -> Self {
        Self { seconds: tally.seconds.clone(), failed: !tally.errors.is_empty() }
    }

    /// Adds the report of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.seconds.merge(&other.seconds);
        self.failed |= other.failed;
    }
}

/// Decides on the next window. Each has its own warm-up and leaves out what was before: a mean over two levels
/// would be neither (docs/design/load-steps.md).
pub(crate) struct Extension<'a> {
    pub work: &'a TransactionWork,
    /// Why a window was not steady; none where it was, or nothing was measured.
    pub unsteady: &'a dyn Fn(&Seconds) -> Option<String>,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub schedule: &'a ArrivalSchedule,
    /// Receives the reason of an extension.
    pub warn: &'a dyn Fn(String),
    /// With whom it decides; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
    /// Number of extensions of this step so far.
    pub extensions: u32,
}

/// Time between the announcement of a window to all ranks and its start.
const LEAD: Duration = Duration::from_millis(100);

/// The reports of the ranks about a window: none before the first one, and whether a rank cannot continue.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RankReport {
    report: Option<WindowReport>,
    broken: bool,
}

impl RankReport {
    fn merge(&mut self, other: Self) {
        self.broken |= other.broken;
        match (&mut self.report, other.report) {
            (Some(report), Some(more)) => report.merge(&more),
            (report, more) => *report = report.take().or(more),
        }
    }
}

impl Extension<'_> {
    /// The same as [`Self::next`] where this process is alone. Several ranks decide as one: the leader by what all of
    /// them report, and everybody gets the same window by a clock of its own. `report` is an error where users are gone.
    pub fn agreed(&mut self, report: Result<Option<WindowReport>, RecvError>) -> Option<Window> {
        let Some(ranks) = self.ranks else { return self.next(report.ok()?.as_ref()) };
        let said = RankReport { broken: report.is_err(), report: report.ok().flatten() };
        let before = self.extensions;
        // A lost rank ends the step. The leader reports the reason when the counts of that rank are missing.
        let said = ranks.reduce(said, RankReport::merge).ok()?;
        let decided = said.map(|said| {
            let window = if said.broken { None } else { self.next(said.report.as_ref()) };
            window.map(|window| (self.extensions, window.measure - window.start, window.end - window.start))
        });
        let (extensions, measure, end) = ranks.broadcast(decided.as_ref()).ok()??;
        // The leader restarted its schedule when it decided; the other ranks draw the same gaps from here on.
        if !ranks.is_leader() && extensions > before {
            self.schedule.restart();
        }
        self.extensions = extensions;
        let start = ranks.common_instant(self.clock.now(), LEAD.as_nanos() as u64).ok()?;
        Some(Window { start, measure: start + measure, end: start + end })
    }

    /// The first window, or the one after `report`; none when that was the last.
    pub fn next(&mut self, report: Option<&WindowReport>) -> Option<Window> {
        if let Some(report) = report {
            // A window with failures is never replaced, because the next window would hide them.
            if report.failed || self.stop.is_stopped() || self.extensions >= self.work.max_extensions {
                return None;
            }
            let why = (self.unsteady)(&report.seconds)?;
            self.extensions += 1;
            let window = self.work.window(self.extensions);
            (self.warn)(format!("extended by {window:?}: {why}"));
            self.schedule.restart();
        }
        let start = self.clock.now() + GRACE.as_nanos() as u64;
        let measure = start + self.work.warm_up.as_nanos() as u64;
        Some(Window { start, measure, end: measure + self.work.window(self.extensions).as_nanos() as u64 })
    }
}
