//! A series of load steps that keep their users: new users log on, the others work on, and each step has a window of its
//! own.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::pin;
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_plan::TransactionWork;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::{Semaphore, watch};

use crate::load::observer::LoadObserver;
use crate::load::series_driver::{SeriesCommand, SeriesDriver, SeriesReport};
use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::load::user::environment::LoadEnvironment;
use crate::load::user::thread_context::ThreadContext;
use crate::load::user::virtual_user::VirtualUser;
use crate::load::window_watch::{account_window, watch_window};
use crate::record::tally::Tally;
use crate::system::own_descriptors;
use crate::threads::count::threads;
use crate::threads::descriptor_limit::logins_per_thread;
use crate::time::window::Window;

/// One step of a series.
pub(crate) struct SeriesStep<'a> {
    pub work: &'a TransactionWork,
    /// Receives the progress of the step.
    pub observer: LoadObserver<'a>,
}

/// Load steps with different numbers of users that follow each other without draining
/// (docs/design/load-steps.md).
///
/// Its threads live for the whole series, and so do the users that every step needs: a user logs on once, before its first
/// window, and works until it leaves. Between two windows the thread logs on the missing users of the next step, or lets
/// those with the highest numbers leave, while the others work on. A window hands over its tally the instant it ends
/// ([`ThreadContext::close_window`]); the next tally counts from that instant on what is outside windows, until the
/// next one begins.
///
/// Invariants: the works of the steps differ in their number of users alone. Each window has the users of its step
/// from its start to its end. What users do is counted in one tally, the one of the instant at which it ends.
pub(crate) struct LoadSeries<'a> {
    pub environment: LoadEnvironment<'a>,
    pub steps: Vec<SeriesStep<'a>>,
}

/// The users of one thread that log on or off before the next window.
struct Attendance {
    /// Users that have not logged on or off yet.
    pending: Cell<u32>,
    /// Logins and logouts at a time.
    logins: Semaphore,
}

impl Attendance {
    fn expect(&self) {
        self.pending.set(self.pending.get() + 1);
    }

    fn settle(&self) {
        self.pending.set(self.pending.get().saturating_sub(1));
    }

    /// Waits until everybody has logged on or off. It is polled after each step of any user of the thread.
    async fn settled(&self) {
        poll_fn(|_| if self.pending.get() == 0 { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// A user that is about to log on.
struct Newcomer {
    number: u32,
    /// Its place among the users who log on with it, and their number.
    place: (u32, u32),
    step: usize,
    /// The first window of the user, once that is known; closed if there will be none.
    first_window: watch::Receiver<Option<Window>>,
}

impl LoadSeries<'_> {
    /// Runs the series as `driver` decides, until the last user has logged off. Returns what users did after the last
    /// window. In real time it blocks the calling thread, because users have threads of their own.
    pub async fn measure(&self, driver: &mut SeriesDriver<'_>) -> Result<Tally, String> {
        let LoadEnvironment { clock, target, .. } = self.environment;
        if clock.is_virtual() {
            return Ok(self.run_thread(0..1, async |report| driver.next(report)).await);
        }
        let work = self.largest();
        let blocking = target.capabilities().blocking;
        let threads = threads(work.users.div_ceil(work.users_per_session), blocking);
        let joined = std::thread::scope(|scope| {
            let mut workers = Vec::new();
            let mut commands = Vec::new();
            let mut reports = Vec::new();
            for thread in 0..threads {
                let (command, mut commanded) = unbounded_channel::<SeriesCommand>();
                let (reported, report) = channel::<SeriesReport>();
                commands.push(command);
                reports.push(report);
                workers.push(scope.spawn(move || {
                    if blocking {
                        own_descriptors();
                    }
                    clock.block_on(self.run_thread(thread..threads, async |report| {
                        let _ = reported.send(report);
                        commanded.recv().await.unwrap_or(SeriesCommand::Finish)
                    }))
                }));
            }
            // A failed thread sends no report. The others finish, and its error is returned when it is joined.
            while let Some(report) = all_of(&reports) {
                let next = driver.next(report);
                for command in &commands {
                    let _ = command.send(next);
                }
                if matches!(next, SeriesCommand::Finish) {
                    break;
                }
            }
            drop(commands);
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        Tally::of_threads(joined)
    }

    /// The users of the first of these threads, from the first login to the last logout; `next` gives the next command
    /// after a report.
    async fn run_thread(
        &self,
        Range { start: thread, end: threads }: Range<u32>,
        mut next: impl AsyncFnMut(SeriesReport) -> SeriesCommand,
    ) -> Tally {
        let work = self.largest();
        let schedule = ArrivalSchedule::new(work.pace.clone(), self.environment.seed, Vec::new(), 0);
        let context = ThreadContext::new(&self.environment, work, &schedule, true);
        let logins = Semaphore::new(logins_per_thread(threads));
        let attendance = Attendance { pending: Cell::new(0), logins };
        let is_own = |number: &u32| number / work.users_per_session % threads.max(1) == thread;
        let mut users = FuturesUnordered::new();
        let (mut first_window, _) = watch::channel(None);
        let mut report = SeriesReport::Started;
        let mut present = 0;
        let mut step = 0;
        loop {
            match while_working(&mut users, next(std::mem::take(&mut report))).await {
                SeriesCommand::Step(index) => {
                    step = index;
                    let wanted = self.steps[step].work.users;
                    first_window = watch::channel(None).0;
                    for number in (present..wanted).filter(is_own) {
                        let place = (number - present, wanted - present);
                        let first_window = first_window.subscribe();
                        attendance.expect();
                        let newcomer = Newcomer { number, place, step, first_window };
                        users.push(self.attend(&context, &attendance, newcomer));
                    }
                    let leaving = (wanted..present).rev().filter(is_own);
                    dismiss(&context, &attendance, leaving, present, wanted);
                    while_working(&mut users, attendance.settled()).await;
                    present = wanted;
                    report = SeriesReport::Ready;
                }
                SeriesCommand::Window(window) => {
                    context.open_window(window);
                    first_window.send_replace(Some(window));
                    let watch = watch_window(&context, window, &self.steps[step].observer);
                    let cpu = while_working(&mut users, watch).await;
                    // Where no user has noticed the end.
                    context.close_window();
                    let mut tally = context.closed.take().unwrap_or_default();
                    account_window(&mut tally, window, cpu);
                    report = SeriesReport::Ended(Box::new(tally));
                }
                SeriesCommand::Finish => {
                    // Users whose first window never came have nothing to wait for any more.
                    drop(first_window);
                    let now = context.clock.now();
                    context.users.borrow().values().for_each(|user| user.leaves.set(now));
                    while users.next().await.is_some() {}
                    break;
                }
            }
        }
        drop(users);
        context.tally.take()
    }

    /// The work of the step with most users.
    fn largest(&self) -> &TransactionWork {
        let works = self.steps.iter().map(|step| step.work);
        let first = self.steps[0].work;
        works.fold(first, |largest, work| if work.users > largest.users { work } else { largest })
    }

    /// One user, from its login to its logout.
    async fn attend(&self, context: &ThreadContext<'_>, attendance: &Attendance, newcomer: Newcomer) {
        let Newcomer { number, place, step, mut first_window } = newcomer;
        let mut user = VirtualUser::new(context, number, number / context.work.users_per_session);
        user.place = place;
        {
            let _turn = attendance.logins.acquire().await;
            user.connect().await;
        }
        let SeriesStep { work, observer } = &self.steps[step];
        observer.ready(context.clock.now(), work.users);
        attendance.settle();
        let window = first_window.wait_for(Option::is_some).await.ok().and_then(|window| *window);
        if let Some(window) = window {
            user.work(window).await;
        }
        let was_dismissed = user.activity.leaves.get() != u64::MAX;
        let _turn = attendance.logins.acquire().await;
        user.clean().await;
        if was_dismissed {
            attendance.settle();
        }
    }
}

/// Requests users to leave after the transaction that they have in flight: the last one first, over the time of the ramp
/// if there is one.
fn dismiss(
    context: &ThreadContext<'_>,
    attendance: &Attendance,
    leaving: impl Iterator<Item = u32>,
    present: u32,
    wanted: u32,
) {
    let now = context.clock.now();
    let ramp = context.work.ramp.map_or(0, |ramp| ramp.as_nanos() as u64);
    let users = context.users.borrow();
    for number in leaving {
        if let Some(user) = users.get(&number) {
            let place = u64::from(present - 1 - number);
            user.leaves.set(now + ramp * place / u64::from((present - wanted).max(1)));
            attendance.expect();
        }
    }
}

/// Waits for `other` while users work. Users are polled first, so that it finds what they have done.
async fn while_working<T>(
    users: &mut FuturesUnordered<impl Future<Output = ()>>,
    other: impl Future<Output = T>,
) -> T {
    let mut other = pin!(other);
    poll_fn(|cx| {
        while let Poll::Ready(Some(())) = users.poll_next_unpin(cx) {}
        other.as_mut().poll(cx)
    })
    .await
}

/// Merges the reports of all threads about a command; none if a thread has ended.
fn all_of(reports: &[Receiver<SeriesReport>]) -> Option<SeriesReport> {
    let mut all: Option<SeriesReport> = None;
    for report in reports {
        let more = report.recv().ok()?;
        match &mut all {
            Some(all) => all.merge(more),
            None => all = Some(more),
        }
    }
    all
}
