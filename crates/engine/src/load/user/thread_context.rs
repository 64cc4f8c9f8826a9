//! What all users of one thread share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use sharebench_model::{LoadDetail, Part, Timeline, WireCount};
use sharebench_plan::{Pace, TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::load::user::environment::{LoadCounters, LoadEnvironment};
use crate::load::user::shared_login::Groups;
use crate::load::user::user_activity::{Activity, UserActivity};
use crate::load::user::user_files::UserFileStore;
use crate::record::operation_kind::OperationKind;
use crate::record::seconds::Seconds;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;
use crate::time::window::Window;

/// Time between two checks of the stop signal during a sleep. The last sleep before a start may be twice as long.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of users up to which the interval is not prolonged. With more users each sleeps longer, so that these
/// wake-ups do not cost more than the work.
const NAPPING: u64 = 500;
/// Longest time between two checks of the stop signal.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// What all users of one thread share.
///
/// A thread of a load makes one and lends it to its users. Everything except the window, the tally, the states of the
/// users and the shared sessions is immutable. Those are reached through cells, because the users of a thread are tasks
/// of one single-threaded runtime: they never run at the same time, so that nothing on the measured path needs a lock.
///
/// Invariant: whoever counts something reads the clock first and the window after it ([`Self::window_at`]). The first one
/// that finds the window ended closes it, before anything that ended later is counted. So each window has exactly what
/// ended in it, however late its thread woke up.
pub(crate) struct ThreadContext<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub schedule: &'a ArrivalSchedule,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// Our directory on the target.
    pub directory: &'a str,
    /// The directory of the shared data set.
    pub set_directory: &'a str,
    /// What is known of users' own files between steps.
    pub file_store: &'a UserFileStore,
    pub spec: SessionSpec,
    pub seed: u64,
    /// The counts of the current window, with what was outside it since the one before.
    pub tally: RefCell<Tally>,
    /// The current window; [`Window::NONE`] between two.
    pub window: Cell<Window>,
    /// True in a series of steps that keep their users: a window that ends hands over its tally to [`Self::closed`],
    /// and users work on.
    pub consecutive: bool,
    /// The tally of the last window of a series, until the thread reports it.
    pub closed: RefCell<Option<Tally>>,
    /// The users of the thread by their numbers.
    pub users: RefCell<BTreeMap<u32, Rc<UserActivity>>>,
    /// What the users of all threads count together.
    pub counters: &'a LoadCounters,
    /// Sessions that users share.
    pub groups: Groups,
}

impl<'a> ThreadContext<'a> {
    /// The context of a thread without users, before the first window.
    pub fn new(
        environment: &LoadEnvironment<'a>,
        work: &'a TransactionWork,
        schedule: &'a ArrivalSchedule,
        consecutive: bool,
    ) -> Self {
        Self {
            target: environment.target,
            work,
            schedule,
            clock: environment.clock,
            stop: environment.stop,
            verify: environment.verify,
            timeout: environment.timeout,
            directory: environment.directory,
            set_directory: environment.set_directory,
            file_store: environment.file_store,
            spec: environment.session_spec(work),
            seed: environment.seed,
            tally: RefCell::new(empty_tally(work)),
            window: Cell::new(Window::NONE),
            consecutive,
            closed: RefCell::default(),
            users: RefCell::default(),
            counters: environment.counters,
            groups: Groups::default(),
        }
    }
}

impl ThreadContext<'_> {
    /// Time between two checks of the stop signal during a sleep, in nanoseconds.
    pub(crate) fn poll_interval(&self) -> u64 {
        let poll_interval = POLL_INTERVAL.as_nanos() as u64;
        (poll_interval * u64::from(self.work.users) / NAPPING)
            .clamp(poll_interval, LONGEST_NAP.as_nanos() as u64)
    }

    /// Begins a window. The current tally becomes its tally, because it has what failed while users logged on.
    pub(crate) fn open_window(&self, window: Window) {
        let mut tally = self.tally.borrow_mut();
        tally.seconds = Seconds::over(window);
        tally.detail.timeline = Timeline::over(window.end - window.measure);
        self.window.set(window);
    }

    /// The window in which something that ends `now` counts. A window that has ended is closed before.
    #[inline]
    pub(crate) fn window_at(&self, now: u64) -> Window {
        if now >= self.window.get().end {
            self.close_window();
        }
        self.window.get()
    }

    /// Ends the current window, if there is one: what users are doing counts up to its end.
    #[cold]
    pub(crate) fn close_window(&self) {
        let window = self.window.replace(Window::NONE);
        if window.is_none() {
            return;
        }
        let is_closed_load = matches!(self.work.pace, Pace::Closed(_));
        for user in self.users.borrow().values() {
            let engaged = user.engaged.take();
            let is_under_way = self.interrupt(user.now.get(), window);
            let done = user.done.take();
            let mut tally = self.tally.borrow_mut();
            tally.users_reported += u32::from(done > 0);
            tally.users_engaged += u32::from(engaged || is_under_way);
            tally.detail.users_with_session += u32::from(user.has_session.get());
            if is_closed_load {
                tally.detail.fairness.add(done);
            }
        }
        if self.consecutive {
            let closed = self.tally.replace(empty_tally(self.work));
            self.closed.replace(Some(closed));
        }
    }

    /// Counts the part of what a user is doing that lies in a window which ends; true for a transaction.
    fn interrupt(&self, activity: Activity, window: Window) -> bool {
        match activity {
            Activity::Away => {}
            Activity::Thinking { from, intended } => {
                self.think(from, intended, window);
                // It was due, and this thread did not start it in time.
                self.censor(intended, None, window);
            }
            Activity::InTransaction { intended, started } => self.censor(intended, started, window),
            Activity::WithoutSession { from } => self.miss_session(from, window.end, window),
        }
        matches!(activity, Activity::InTransaction { .. })
    }

    /// Counts the part of a pause that lies in the window as think time.
    pub(crate) fn think(&self, from: u64, to: u64, window: Window) {
        self.tally.borrow_mut().occupancy.thinking_ns += window.overlap(from, to);
    }

    /// Counts the part of a time without a session that lies in the window.
    pub(crate) fn miss_session(&self, from: u64, to: u64, window: Window) {
        let from = from.max(window.measure);
        let to = to.min(window.end);
        if from < to {
            let mut tally = self.tally.borrow_mut();
            tally.detail.without_session_ns += to - from;
            tally.detail.timeline.without_session(from - window.measure, to - window.measure);
        }
    }

    /// Counts an operation that ended `now`, outside the measured part of a window.
    pub(crate) fn count_outside(
        &self,
        now: u64,
        kind: OperationKind,
        succeeded: bool,
        bytes: u64,
        wire: WireCount,
    ) {
        // Closes a window that has ended: the operation is not of its tally.
        self.window_at(now);
        let outside = &mut self.tally.borrow_mut().outside;
        outside.wire += wire;
        if succeeded {
            outside.operations += 1;
            match kind {
                kind if kind.reads() => outside.bytes.read += bytes,
                OperationKind::Write => outside.bytes.written += bytes,
                _ => {}
            }
        }
    }

    /// Counts a transaction that was in flight, or waited for a free user, when the window ended. Its elapsed time is
    /// a lower bound of its response time.
    pub(crate) fn censor(&self, intended: u64, started: Option<u64>, window: Window) {
        // A start that was due after the window does not belong to it.
        if intended >= window.end {
            return;
        }
        let mut tally = self.tally.borrow_mut();
        tally.censored += 1;
        // The elapsed time is a lower bound: leaving the transaction out would make a slow server look fast
        // (docs/measure/measurement-rules.md 1.7).
        tally.unfinished.response.record(window.end - intended);
        if let Some(started) = started {
            tally.unfinished.service.record(window.end.saturating_sub(started));
        }
        // Only the part within the window counts for Little's law.
        tally.occupancy.unfinished_ns += window.end - intended.max(window.measure);
    }
}

/// A tally with empty parts for all that a workload's users can do, in an order that all threads share.
pub(crate) fn empty_tally(work: &TransactionWork) -> Tally {
    let think_ns = match &work.pace {
        Pace::Closed(think) | Pace::Visits { think, .. } => think.mean().as_nanos() as u64,
        Pace::Open { .. } => 0,
    };
    let detail = LoadDetail {
        transactions: work.workload.transactions.iter().map(|t| Part::named(&t.name)).collect(),
        operations: OperationKind::NAMES.map(Part::named).to_vec(),
        think_ns,
        users_per_session: work.users_per_session,
        ..LoadDetail::default()
    };
    Tally { detail, ..Tally::default() }
}
