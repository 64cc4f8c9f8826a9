//! A motor: one simulated user, or one session of an open load, that performs transactions at its pace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use sharebench_model::{ErrorClass, FileRef, OpError, Random, WireCount};
use sharebench_plan::{Pace, Transaction, TransactionWork, Verify};
use sharebench_target::{Session, SessionSpec, Target};

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::schedule::Schedule;
use crate::sleep::Sleep;
use crate::stop::StopSignal;
use crate::tally::Tally;

/// Sleep without a look at the stop signal; the last one before a start may be twice as long.
const NAP: Duration = Duration::from_millis(100);
/// Pause before a lost session is opened again.
const RECONNECT: Duration = Duration::from_millis(500);

/// The measured part of a step, in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When motors may begin.
    pub start: u64,
    /// When measuring begins.
    pub measure: u64,
    /// When everything ends.
    pub end: u64,
}

/// What all motors of one thread share.
pub(crate) struct Crew<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub schedule: &'a Schedule,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    /// Our directory on the target.
    pub directory: &'a str,
    pub spec: SessionSpec,
    pub seed: u64,
    pub tally: Rc<RefCell<Tally>>,
}

impl Crew<'_> {
    /// Counts a transaction that was under way, or waiting for a free motor, when the window ended.
    fn censor(&self, intended: u64, started: Option<u64>, window: Window) {
        if intended >= window.end {
            return;
        }
        let mut tally = self.tally.borrow_mut();
        tally.censored += 1;
        tally.unfinished.response.record(window.end - intended);
        if let Some(started) = started {
            tally.unfinished.service.record(window.end.saturating_sub(started));
        }
        tally.occupancy.unfinished_ns += window.end - intended.max(window.measure);
    }
}

/// One simulated user.
pub(crate) struct Motor<'a> {
    pub(crate) crew: &'a Crew<'a>,
    pub(crate) number: u32,
    pub(crate) session: Option<Box<dyn Session>>,
    pub(crate) deadline: Deadline,
    /// Decides what it does; pauses are drawn apart, so that they are the same whatever is done.
    pub(crate) random: Random,
    pauses: Random,
    pub(crate) wire: WireCount,
    /// Files on the target that this motor made, with their generation.
    pub(crate) copies: BTreeMap<usize, u32>,
    /// Files of its session that stay open from one transaction to the next.
    pub(crate) kept: BTreeMap<usize, FileRef>,
    round: Vec<Transaction>,
    reported: bool,
    engaged: bool,
}

impl<'a> Motor<'a> {
    /// Motor `number` of its step, not yet connected.
    pub fn new(crew: &'a Crew<'a>, number: u32) -> Self {
        Self {
            crew,
            number,
            session: None,
            deadline: Deadline::new(crew.clock, crew.timeout),
            random: Random::new(crew.seed, 0x1000 + u64::from(number)),
            pauses: Random::new(crew.seed, 0x2000_0000 + u64::from(number)),
            wire: WireCount::default(),
            copies: BTreeMap::new(),
            kept: BTreeMap::new(),
            round: Vec::new(),
            reported: false,
            engaged: false,
        }
    }

    /// Opens the motor's session, and the files it keeps open; a failure is counted and tried again later.
    pub async fn connect(&mut self) {
        match self.crew.target.connect(&self.crew.spec).await {
            Ok(session) => {
                self.session = Some(session);
                if let Err(error) = self.open_kept().await {
                    self.lose_session();
                    self.book_failure(error);
                }
                self.wire = self.session.as_deref().map(Session::wire).unwrap_or_default();
            }
            Err(error) => self.book_failure(OpError::new(error.class, "connect", error.to_string())),
        }
    }

    /// Performs transactions until the window ends or the run is stopped; again for each further window.
    pub async fn work(&mut self, window: Window) {
        let crew = self.crew;
        (self.reported, self.engaged) = (false, false);
        let mut over = crew.clock.doze_until(window.end);
        let mut thought_from = window.start;
        let mut next = self.first_start(window);
        while let Some(intended) = next {
            let awake = self.sleep_until(intended, window.end).await;
            self.book_thinking(thought_from, intended, window);
            if !awake {
                crew.censor(intended, None, window);
                break;
            }
            if self.session.is_none() {
                self.connect().await;
            }
            if self.session.is_none() {
                // A pause to reconnect is no thinking: it is to be missed by Little's law.
                thought_from = window.end;
                let again = crew.clock.now() + RECONNECT.as_nanos() as u64;
                match crew.work.pace {
                    Pace::Closed(_) => next = Some(again),
                    // The schedule goes on, and what was to start waits meanwhile.
                    Pace::Open { .. } => drop(self.sleep_until(again, window.end).await),
                }
                continue;
            }
            let Some(transaction) = self.next_transaction() else { return };
            self.transaction(transaction, intended, window, &mut over).await;
            thought_from = crew.clock.now();
            next = self.following_start(thought_from, window);
        }
        // What the schedule held for this window, and no motor was free to take.
        while !crew.stop.is_stopped()
            && let Some(intended) = crew.schedule.claim(window)
        {
            crew.censor(intended, None, window);
        }
    }

    /// The first start: one pause after the beginning, so that users do not march in step.
    fn first_start(&mut self, window: Window) -> Option<u64> {
        match self.crew.work.pace {
            Pace::Closed(think) => {
                let most = think.mean().as_nanos() as u64;
                Some(window.start + self.pauses.below(most.max(1)))
            }
            Pace::Open { .. } => self.crew.schedule.claim(window),
        }
    }

    fn following_start(&mut self, now: u64, window: Window) -> Option<u64> {
        match self.crew.work.pace {
            Pace::Closed(think) => Some(now + think.draw(&mut self.pauses)),
            Pace::Open { .. } => self.crew.schedule.claim(window),
        }
    }

    /// The next one of the motor's round; each round has a new order.
    fn next_transaction(&mut self) -> Option<Transaction> {
        if self.round.is_empty() {
            self.round.clone_from(&self.crew.work.workload.transactions);
            self.random.shuffle(&mut self.round);
        }
        self.round.pop()
    }

    /// Books the part of a pause that lies in the window.
    fn book_thinking(&self, from: u64, to: u64, window: Window) {
        let inside = to.min(window.end).saturating_sub(from.max(window.measure));
        self.crew.tally.borrow_mut().occupancy.thinking_ns += inside;
    }

    /// Removes the motor's copies and logs off.
    pub async fn clean(mut self) {
        self.close_kept().await;
        for file in std::mem::take(&mut self.copies).into_keys() {
            let path = self.copy_path(file);
            if let Some(session) = self.session.as_deref_mut() {
                // The engine removes the whole directory in the end: what fails here is not lost.
                let _ = self.deadline.call(session, sharebench_model::MetaOp::Remove { path }).await;
            }
        }
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    /// Sleeps to `instant`; false when the window or the run ended first. Virtual time needs no naps: nobody
    /// waits for it to pass.
    async fn sleep_until(&self, instant: u64, end: u64) -> bool {
        let clock = self.crew.clock;
        loop {
            let now = clock.now();
            if self.crew.stop.is_stopped() || now >= end {
                return false;
            }
            if now >= instant {
                return true;
            }
            let (until, nap) = (instant.min(end), NAP.as_nanos() as u64);
            // A nap may end some ticks late, which is not to be the start's lateness.
            if until - now > 2 * nap && !clock.is_virtual() {
                clock.doze_until(now + nap).await;
            } else {
                clock.sleep_until(until).await;
            }
        }
    }

    /// Performs a transaction to its end, which may lie behind the window's: then it counts as unfinished,
    /// but is awaited, because the session can do nothing else before.
    async fn transaction(
        &mut self,
        transaction: Transaction,
        intended: u64,
        window: Window,
        over: &mut Sleep,
    ) {
        let crew = self.crew;
        let started = crew.clock.now();
        let intended = intended.min(started);
        let mut censored = false;
        let result = {
            let mut performance = pin!(self.perform(transaction, window));
            poll_fn(|cx| {
                let polled = performance.as_mut().poll(cx);
                if polled.is_pending() && !censored && Pin::new(&mut *over).poll(cx).is_ready() {
                    censored = true;
                    crew.censor(intended, Some(started), window);
                }
                polled
            })
            .await
        };
        let ended = crew.clock.now();
        let in_time = ended < window.end;
        self.engage(ended, window);
        match result {
            Ok(()) if in_time => self.book(intended, started, ended, window),
            Err(error) => {
                if matches!(
                    error.class,
                    ErrorClass::Disconnected | ErrorClass::Timeout | ErrorClass::Protocol | ErrorClass::Stale
                ) {
                    self.lose_session();
                }
                // What failed behind the window is no part of the measure; but wrong data is always told.
                if in_time || error.class == ErrorClass::DataMismatch {
                    self.book_failure(error);
                } else if !censored {
                    crew.censor(intended, Some(started), window);
                }
            }
            Ok(()) if !censored => crew.censor(intended, Some(started), window),
            Ok(()) => {}
        }
    }

    /// Books a transaction that ended within the step; it counts if that was in the measured part.
    fn book(&mut self, intended: u64, started: u64, ended: u64, window: Window) {
        if ended < window.measure {
            return;
        }
        let mut tally = self.crew.tally.borrow_mut();
        tally.transactions += 1;
        tally.response.record(ended - intended);
        tally.slices.record(ended, ended - intended);
        tally.service.record(ended - started);
        tally.lag.record(started - intended);
        tally.occupancy.before_ns += window.measure.saturating_sub(intended);
        tally.motors_reported += u32::from(!self.reported);
        self.reported = true;
    }

    /// Counts the motor once it has had a transaction under way within the measured part.
    fn engage(&mut self, ended: u64, window: Window) {
        if !self.engaged && ended >= window.measure {
            self.engaged = true;
            self.crew.tally.borrow_mut().motors_engaged += 1;
        }
    }

    fn lose_session(&mut self) {
        self.session = None;
        self.kept.clear();
    }

    fn book_failure(&self, error: OpError) {
        self.crew.tally.borrow_mut().failure(error);
    }
}
