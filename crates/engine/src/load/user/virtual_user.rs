//! A user: one simulated user, or one session of an open load, that performs transactions at its pace.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

use sharebench_model::{ErrorClass, OpError, Random, WireCount};
use sharebench_plan::{Owner, Pace, Think};
use sharebench_target::Session;

use crate::load::user::open_file::OpenFile;
use crate::load::user::replay_state::Replay;
use crate::load::user::shared_session::SessionMember;
use crate::load::user::thread_context::ThreadContext;
use crate::load::user::user_files::UserFiles;
use crate::time::deadline::Deadline;
use crate::time::sleep::Sleep;
use crate::time::window::Window;

/// Number of transactions after which a user yields to the other users of its thread.
const UNBROKEN: u32 = 64;
/// Minimum length of a pause in which a session returns its buffers (docs/adr/0026).
const REST: Duration = Duration::from_millis(10);

/// True for failures after which a session is of no use any more.
pub(crate) const fn loses_session(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Disconnected | ErrorClass::Timeout | ErrorClass::Protocol | ErrorClass::Stale)
}

/// One simulated user of a load, or one session of the pool of an open load.
///
/// A user owns its session (or its slot of a shared one), the knowledge about its own files on the target, and its
/// random numbers. The thread makes it, connects it before the first window, lets it [`Self::work`] through each
/// window, and logs it off after the last. Within a window it performs one transaction after the other at its pace
/// and adds each to the thread's tally.
///
/// Invariants: a transaction has three instants, intended, started and ended, and is counted in the window in which
/// it ends; one that is still in flight at the end is counted as unfinished, with its elapsed time as a lower bound.
/// A lost session is data and not an error: the user waits, reconnects and continues, and the time without a session
/// does not count as think time. What users do and how long they pause are drawn from separate sequences, so that
/// pauses are the same whatever the target does.
#[expect(clippy::struct_excessive_bools, reason = "what it has been seen to do, each for itself")]
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
    /// Transactions that ended within the window.
    done: u64,
    reported: bool,
    engaged: bool,
    /// True if the user lost its session in this step.
    pub(crate) outage: bool,
}

impl<'a> VirtualUser<'a> {
    /// Virtual user `number` of its step, one of a group that may share a session, not yet connected.
    pub fn new(thread: &'a ThreadContext<'a>, number: u32, group: u32) -> Self {
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
            replay: Replay::default(),
            last_counted: false,
            mix_left: Vec::new(),
            unbroken: 0,
            visiting: false,
            done: 0,
            reported: false,
            engaged: false,
            outage: false,
        }
    }

    /// Performs transactions until the window ends or the run is stopped; again for each further window.
    pub async fn work(&mut self, window: Window) {
        let thread = self.thread;
        (self.reported, self.engaged, self.done) = (false, false, 0);
        if self.arrives() {
            // A pool of visitors starts without sessions.
            self.log_off().await;
        }
        // One timer for the whole window, polled only while a transaction is pending.
        let mut over = thread.clock.sleep_coarse(window.end);
        let mut thought_from = window.start;
        let mut next = self.first_start(window);
        while let Some(intended) = next {
            let awake = self.sleep_to_start(intended, window.end).await;
            self.book_thinking(thought_from, intended, window);
            let Some(mut started) = awake else {
                thread.censor(intended, None, window);
                break;
            };
            if self.arrives() {
                if !self.log_on(intended, window).await {
                    (thought_from, next) = (window.end, thread.schedule.claim(window));
                    continue;
                }
                started = thread.clock.now();
            } else if self.session.is_none() {
                let again = self.reconnect(window).await;
                if self.session.is_none() {
                    // A pause to reconnect does not count as think time, so that the check of Little's law shows it.
                    thought_from = window.end;
                    match thread.work.pace {
                        Pace::Closed(_) => next = Some(again),
                        // The schedule continues meanwhile, and due transactions wait.
                        Pace::Open { .. } => drop(self.sleep_to_start(again, window.end).await),
                        // A visit ends with its session; the next arrival begins a new one.
                        Pace::Visits { .. } => self.visiting = false,
                    }
                    continue;
                }
                started = thread.clock.now();
            }
            let Some(transaction) = self.next_transaction(window) else { return };
            thought_from = self.transaction(transaction, (intended, started), window, &mut over).await;
            next = self.following_start(intended, thought_from, window).await;
            if next.is_some_and(|next| next > thought_from + REST.as_nanos() as u64) {
                self.release_buffers();
            }
            self.yield_now().await;
        }
        // Scheduled starts of this window for which no user was free count as unfinished.
        while !thread.stop.is_stopped()
            && let Some(intended) = thread.schedule.claim(window)
        {
            thread.censor(intended, None, window);
        }
        if let Pace::Closed(_) = thread.work.pace {
            thread.tally.borrow_mut().detail.fairness.add(self.done);
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
                        ramp.as_nanos() as u64 * u64::from(self.number)
                            / u64::from(self.thread.work.users.max(1))
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
    fn next_transaction(&mut self, window: Window) -> Option<usize> {
        let thread = self.thread;
        match thread.work.workload.loadfile.as_deref() {
            Some(file) => Some(self.next_line(file, window)),
            None => thread.work.workload.next(&mut self.mix_left, &mut self.random),
        }
    }

    /// Counts the part of a pause that lies in the window as think time.
    fn book_thinking(&self, from: u64, to: u64, window: Window) {
        let inside = to.min(window.end).saturating_sub(from.max(window.measure));
        self.thread.tally.borrow_mut().occupancy.thinking_ns += inside;
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
    }

    /// Yields regularly to the thread's other users and its timers, also where every reply is there at once. Virtual
    /// time has turns of its own.
    async fn yield_now(&mut self) {
        self.unbroken += 1;
        if self.unbroken >= UNBROKEN && !self.thread.clock.is_virtual() {
            self.unbroken = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Sleeps to `instant`, and gives the one at which it woke; none when the window or the run ended first. Virtual
    /// time needs no such sleeps, because it does not pass while a user works.
    async fn sleep_to_start(&mut self, instant: u64, end: u64) -> Option<u64> {
        let clock = self.thread.clock;
        let interval = self.thread.poll_interval();
        loop {
            let now = clock.now();
            if self.thread.stop.is_stopped() || now >= end {
                return None;
            }
            if now >= instant {
                return Some(now);
            }
            let until = instant.min(end);
            // A nap may end some ticks late, which is not to be the start's lateness.
            if until - now > 2 * interval && !clock.is_virtual() {
                self.sleep_with_keepalive(now + interval).await;
            } else {
                clock.sleep_precise(until).await;
            }
        }
    }

    /// Performs a transaction to its end. If it ends after the window, it counts as unfinished,
    /// but is awaited, because the session can do nothing else before. Gives the instant of its end.
    async fn transaction(
        &mut self,
        transaction: usize,
        (intended, started): (u64, u64),
        window: Window,
        over: &mut Sleep,
    ) -> u64 {
        let thread = self.thread;
        let intended = intended.min(started);
        let mut censored = false;
        let result = {
            let mut performance = pin!(self.perform(transaction, window));
            poll_fn(|cx| {
                let polled = performance.as_mut().poll(cx);
                if polled.is_pending() && !censored && Pin::new(&mut *over).poll(cx).is_ready() {
                    censored = true;
                    thread.censor(intended, Some(started), window);
                }
                polled
            })
            .await
        };
        let ended = thread.clock.now();
        let in_time = ended < window.end;
        self.engage(ended, window);
        match result {
            Ok(()) if in_time => self.book(transaction, intended, started, ended, window),
            Err(error) => {
                if (window.measure..window.end).contains(&ended) {
                    let mut tally = thread.tally.borrow_mut();
                    *tally.detail.transactions[transaction].errors.entry(error.class).or_default() += 1;
                    tally.detail.sessions_lost += u64::from(loses_session(error.class));
                    tally.detail.timeline.failed(ended - window.measure);
                }
                if loses_session(error.class) {
                    self.lose_session();
                }
                // A failure after the window is not part of the measure, but wrong data is always reported.
                if in_time || error.class == ErrorClass::DataMismatch {
                    self.book_failure(error);
                } else if !censored {
                    thread.censor(intended, Some(started), window);
                }
            }
            Ok(()) if !censored => thread.censor(intended, Some(started), window),
            Ok(()) => {}
        }
        ended
    }

    /// Books a transaction that ended within the step; it counts if that was in the measured part.
    fn book(&mut self, transaction: usize, intended: u64, started: u64, ended: u64, window: Window) {
        if ended < window.measure {
            return;
        }
        let mut tally = self.thread.tally.borrow_mut();
        tally.transactions += 1;
        tally.response.record(ended - intended);
        tally.detail.timeline.ended(ended - window.measure);
        tally.response_batches.record(ended, ended - intended);
        tally.service.record(ended - started);
        tally.lag.record(started - intended);
        self.done += 1;
        let deadline = self.thread.work.workload.transactions[transaction].deadline;
        let part = &mut tally.detail.transactions[transaction];
        part.count += 1;
        part.response.record(ended - intended);
        part.service.record(ended - started);
        part.lag.record(started - intended);
        let missed = deadline.is_some_and(|deadline| u128::from(ended - intended) > deadline.as_nanos());
        part.missed += u64::from(missed);
        tally.occupancy.before_ns += window.measure.saturating_sub(intended);
        tally.users_reported += u32::from(!self.reported);
        self.reported = true;
    }

    /// Counts the user once it has had a transaction under way within the measured part.
    fn engage(&mut self, ended: u64, window: Window) {
        if !self.engaged && ended >= window.measure {
            self.engaged = true;
            self.thread.tally.borrow_mut().users_engaged += 1;
        }
    }

    pub(crate) fn book_failure(&self, error: OpError) {
        self.thread.tally.borrow_mut().failure(error);
    }
}
