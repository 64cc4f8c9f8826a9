//! A user: one simulated user, or one session of an open load, that performs transactions at its pace.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use sharebench_model::{ErrorClass, OpError, Random, WireCount};
use sharebench_plan::{Owner, Pace, Think};
use sharebench_target::Session;

use crate::load::user::open_file::OpenFile;
use crate::load::user::replay_state::{Locking, Replay};
use crate::load::user::semaphore::OpenSemaphore;
use crate::load::user::shared_session::SessionMember;
use crate::load::user::thread_context::ThreadContext;
use crate::load::user::user_activity::{Activity, NOT_THINKING, UserActivity};
use crate::load::user::user_files::UserFiles;
use crate::load::user::watched::WatchedDirectory;
use crate::time::deadline::Deadline;
use crate::time::window::Window;

/// Number of transactions after which a user yields to the other users of its thread.
const UNBROKEN: u32 = 64;
/// Minimum length of a pause in which a session returns its buffers (docs/design/user-sessions.md).
const REST: Duration = Duration::from_millis(10);

/// True for failures after which a session is of no use any more.
pub(crate) const fn loses_session(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Disconnected | ErrorClass::Timeout | ErrorClass::Protocol | ErrorClass::Stale)
}

/// One simulated user of a load, or one session of the pool of an open load.
///
/// A user owns its session (or its slot of a shared one), the knowledge about its own files on the target, and its
/// random numbers. The thread makes it, connects it before its first window, lets it [`Self::work`], and logs it off.
/// Users of a single step work through each window of it and pause between two; users of a series of steps work from
/// their first window until they leave, while the thread's window changes under them. At work a user performs one
/// transaction after the other at its pace and adds each to the thread's tally.
///
/// Invariants: a transaction has three instants, intended, started and ended, and is counted in the window in which
/// it ends. In each window at whose end it is in flight it is counted as unfinished, with its elapsed time as a lower
/// bound; the thread does that ([`ThreadContext::close_window`]), so that the user need not wake up for it.
/// A lost session is data and not an error: the user waits, reconnects and continues, and the time without a session
/// does not count as think time. What users do and how long they pause are drawn from separate sequences, so that
/// pauses are the same whatever the target does.
pub(crate) struct VirtualUser<'a> {
    pub(crate) thread: &'a ThreadContext<'a>,
    pub(crate) number: u32,
    /// The group of the thread's users with which the user shares a session.
    pub(crate) group: u32,
    pub(crate) session: Option<Box<dyn Session>>,
    /// The user's slot of a session that it shares with others.
    pub(crate) session_member: Option<SessionMember>,
    pub(crate) deadline: Deadline,
    /// Draws what the user does. Pauses are drawn from a sequence of their own, so that they do not depend on it.
    pub(crate) random: Random,
    pauses: Random,
    pub(crate) wire: WireCount,
    /// The user's own files on the target.
    pub(crate) own: UserFiles,
    /// Files of its session that stay open from one transaction to the next.
    pub(crate) kept: BTreeMap<usize, OpenFile>,
    /// Directories that it has the server watch, by path. They stay open as well.
    pub(crate) watched: BTreeMap<String, WatchedDirectory>,
    pub(crate) semaphore: OpenSemaphore,
    /// The user's position in its loadfile, if the workload has one.
    pub(crate) replay: Replay,
    /// True when the last operation ended within the measured window.
    pub(crate) last_counted: bool,
    /// Transactions that the user still performs before it starts over with the workload's list.
    mix_left: Vec<usize>,
    /// Transactions since the user last yielded to others of its thread.
    unbroken: u32,
    /// True between login and logout of a visit.
    pub(crate) visiting: bool,
    /// What its thread knows of it.
    pub(crate) activity: Rc<UserActivity>,
    /// Its place among the users who start with it, and their number: the order of a ramp.
    pub(crate) place: (u32, u32),
    /// Transactions that the user completed, within windows and outside them.
    pub(crate) completed: u64,
    /// True if the user lost its session since it logged on.
    pub(crate) outage: bool,
}

impl<'a> VirtualUser<'a> {
    /// Virtual user `number` of its step, one of a group that may share a session, not yet connected. Its thread knows
    /// it from now on.
    pub fn new(thread: &'a ThreadContext<'a>, number: u32, group: u32) -> Self {
        let activity = Rc::new(UserActivity::default());
        thread.users.borrow_mut().insert(number, Rc::clone(&activity));
        Self {
            thread,
            number,
            group,
            session: None,
            session_member: None,
            deadline: Deadline::new(thread.clock, thread.timeout),
            random: Random::new(thread.seed, 0x1000 + u64::from(number)),
            pauses: Random::new(thread.seed, 0x2000_0000 + u64::from(number)),
            wire: WireCount::default(),
            own: thread.file_store.take(number),
            kept: BTreeMap::new(),
            watched: BTreeMap::new(),
            semaphore: OpenSemaphore::default(),
            replay: Replay::default(),
            last_counted: false,
            mix_left: Vec::new(),
            unbroken: 0,
            visiting: false,
            activity,
            place: (number, thread.work.users),
            completed: 0,
            outage: false,
        }
    }

    /// Performs transactions until the user leaves or the run is stopped; `window` is the first one.
    pub async fn work(&mut self, window: Window) {
        let thread = self.thread;
        if self.arrives() {
            // A pool of visitors starts without sessions.
            self.log_off().await;
        }
        let mut thought_from = window.start;
        let mut next = self.first_start(window);
        while let Some(intended) = next {
            self.activity.now.set(Activity::Thinking { from: thought_from, intended });
            let awake = self.sleep_to_start(intended).await;
            self.end_thinking();
            let Some(mut started) = awake else { break };
            if self.arrives() {
                if !self.log_on(intended).await {
                    (thought_from, next) = (NOT_THINKING, thread.schedule.claim(window));
                    continue;
                }
                started = thread.clock.now();
            } else if self.session.is_none() {
                let again = self.reconnect().await;
                if self.session.is_none() {
                    // A pause to reconnect does not count as think time, so that the check of Little's law shows it.
                    thought_from = NOT_THINKING;
                    match thread.work.pace {
                        Pace::Closed(_) => next = Some(again),
                        // The schedule continues meanwhile, and due transactions wait.
                        Pace::Open { .. } => {
                            self.activity.now.set(Activity::Thinking { from: NOT_THINKING, intended });
                            self.sleep_to_start(again).await;
                        }
                        // A visit ends with its session; the next arrival begins a new one.
                        Pace::Visits { .. } => self.visiting = false,
                    }
                    continue;
                }
                started = thread.clock.now();
            }
            let Some(transaction) = self.next_transaction() else { break };
            thought_from = self.transaction(transaction, intended, started).await;
            next = self.following_start(intended, thought_from, window).await;
            if let Some(intended) = next {
                self.activity.now.set(Activity::Thinking { from: thought_from, intended });
                if intended > thought_from + REST.as_nanos() as u64 {
                    self.release_buffers();
                }
            }
            self.yield_now().await;
        }
        self.activity.end();
        // Scheduled starts of this window for which no user was free count as unfinished.
        while !thread.stop.is_stopped()
            && let Some(intended) = thread.schedule.claim(window)
        {
            thread.censor(intended, None, window);
        }
    }

    /// The first start of a user: its place in the ramp, or a random part of its pause, so that users do not start
    /// together.
    fn first_start(&mut self, window: Window) -> Option<u64> {
        match &self.thread.work.pace {
            Pace::Closed(think) => {
                let most = think.mean().as_nanos() as u64;
                let begins = self.thread.work.ramp.map_or_else(
                    || self.pauses.below(most.max(1)),
                    |ramp| {
                        let (place, of) = self.place;
                        ramp.as_nanos() as u64 * u64::from(place) / u64::from(of.max(1))
                    },
                );
                Some(window.start + begins)
            }
            Pace::Open { .. } | Pace::Visits { .. } => {
                self.visiting = false;
                self.thread.schedule.claim(window)
            }
        }
    }

    async fn following_start(&mut self, intended: u64, now: u64, window: Window) -> Option<u64> {
        match &self.thread.work.pace {
            // The next start follows the schedule, not the actual last start.
            Pace::Closed(Think::Every(period)) => Some(intended + period.as_nanos() as u64),
            Pace::Closed(Think::Stamps) => {
                let file = self.thread.work.workload.loadfile.as_deref();
                Some(file.map_or(now, |file| self.next_due(file, now)))
            }
            Pace::Closed(think) => Some(now + think.draw(&mut self.pauses)),
            Pace::Open { .. } => self.thread.schedule.claim(window),
            Pace::Visits { think, .. } => {
                if self.session.is_some() && !self.thread.work.pace.is_last(&mut self.pauses) {
                    return Some(now + think.draw(&mut self.pauses));
                }
                self.log_off().await;
                self.thread.schedule.claim(window)
            }
        }
    }

    /// The next transaction of the user, in the order that the workload requires.
    fn next_transaction(&mut self) -> Option<usize> {
        let thread = self.thread;
        match thread.work.workload.loadfile.as_deref() {
            Some(file) => Some(self.next_line(file)),
            None => thread.work.workload.next(&mut self.mix_left, &mut self.random),
        }
    }

    /// Ends a pause, and counts the part of it that lies in the current window.
    fn end_thinking(&self) {
        let now = self.thread.clock.now();
        let window = self.thread.window_at(now);
        if let Activity::Thinking { from, intended } = self.activity.end() {
            self.thread.think(from, intended.min(now), window);
        }
    }

    /// Removes the user's copies of shared files, keeps its own for the next step, and logs off.
    pub async fn clean(mut self) {
        self.close_kept().await;
        self.verify_after_outage().await;
        if let Some(file) = self.thread.work.workload.loadfile.as_deref() {
            self.leave_replay(file).await;
        }
        let set = &self.thread.work.workload.set;
        let copied = |index: &usize| set.files[*index].owner == Owner::Shared;
        let copies: Vec<usize> = self.own.files.keys().copied().filter(copied).collect();
        for file in copies {
            let path = self.own_name(file);
            self.own.files.remove(&file);
            // The engine removes the whole directory in the end: what fails here is not lost.
            let _ = self.call(sharebench_model::MetaOp::Remove { path }).await;
        }
        self.thread.file_store.put(self.number, std::mem::take(&mut self.own));
        if let Some(session) = self.session.take() {
            session.close().await;
        }
        self.thread.users.borrow_mut().remove(&self.number);
        self.thread.tally.borrow_mut().transactions_by_users += self.completed;
    }

    /// Yields regularly to the thread's other users and its timers, also where every reply is there at once. Between two
    /// windows it yields each time, because the thread then waits for its turn to begin the next one. Virtual time has
    /// turns of its own.
    async fn yield_now(&mut self) {
        self.unbroken += 1;
        let thread = self.thread;
        let is_between = thread.consecutive && thread.window.get().is_none();
        if (self.unbroken >= UNBROKEN || is_between) && !thread.clock.is_virtual() {
            self.unbroken = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Sleeps to `instant`, and gives the one at which it woke; none when the user leaves or the run ended first. Virtual
    /// time needs no naps, because it does not pass while a user works, unless the time to leave may change meanwhile.
    async fn sleep_to_start(&mut self, instant: u64) -> Option<u64> {
        let thread = self.thread;
        let clock = thread.clock;
        let interval = thread.poll_interval();
        loop {
            let now = clock.now();
            let leaves = self.activity.leaves.get();
            if thread.stop.is_stopped() || now >= leaves {
                return None;
            }
            if now >= instant {
                return Some(now);
            }
            let until = instant.min(leaves);
            // A nap may end some ticks late, which is not to be the start's lateness.
            if until - now > 2 * interval && (thread.consecutive || !clock.is_virtual()) {
                self.sleep_with_keepalive(now + interval).await;
            } else {
                clock.sleep_precise(until).await;
            }
        }
    }

    /// Performs a transaction to its end, and gives that instant. One that ends after a window counts there as
    /// unfinished, but is awaited, because the session can do nothing else before.
    async fn transaction(&mut self, transaction: usize, intended: u64, started: u64) -> u64 {
        let thread = self.thread;
        let intended = intended.min(started);
        self.activity.now.set(Activity::InTransaction { intended, started: Some(started) });
        let result = self.perform(transaction).await;
        let ended = thread.clock.now();
        // Closes a window that has ended meanwhile, while this user still counts as being in its transaction.
        let window = thread.window_at(ended);
        self.activity.end();
        self.activity.engaged.set(self.activity.engaged.get() || window.measures(ended));
        match result {
            // The target has just answered that it cannot perform this line.
            Ok(()) if self.replay.locking == Locking::JustRejected => self.replay.locking = Locking::LeftOut,
            Ok(()) => self.book(transaction, intended, started, ended, window),
            Err(error) => {
                if window.measures(ended) {
                    let mut tally = thread.tally.borrow_mut();
                    *tally.detail.transactions[transaction].errors.entry(error.class).or_default() += 1;
                    tally.detail.sessions_lost += u64::from(loses_session(error.class));
                    tally.detail.timeline.failed(ended - window.measure);
                }
                if loses_session(error.class) {
                    self.lose_session();
                }
                // A failure after the last window is not part of the measure, but wrong data is always reported.
                if ended < self.activity.leaves.get() || error.class == ErrorClass::DataMismatch {
                    self.book_failure(error);
                }
            }
        }
        ended
    }

    /// Books a transaction that succeeded: in the window, or as one outside it.
    fn book(&mut self, transaction: usize, intended: u64, started: u64, ended: u64, window: Window) {
        self.completed += 1;
        let mut tally = self.thread.tally.borrow_mut();
        if !window.measures(ended) {
            tally.outside.transactions += 1;
            return;
        }
        tally.transactions += 1;
        tally.response.record(ended - intended);
        tally.detail.timeline.ended(ended - window.measure);
        tally.response_batches.record(ended, ended - intended);
        tally.service.record(ended - started);
        tally.lag.record(started - intended);
        let deadline = self.thread.work.workload.transactions[transaction].deadline;
        let part = &mut tally.detail.transactions[transaction];
        part.count += 1;
        part.response.record(ended - intended);
        part.service.record(ended - started);
        part.lag.record(started - intended);
        let missed = deadline.is_some_and(|deadline| u128::from(ended - intended) > deadline.as_nanos());
        part.missed += u64::from(missed);
        tally.occupancy.before_ns += window.measure.saturating_sub(intended);
        self.activity.done.set(self.activity.done.get() + 1);
    }

    pub(crate) fn book_failure(&self, error: OpError) {
        self.thread.tally.borrow_mut().failure(error);
    }
}
