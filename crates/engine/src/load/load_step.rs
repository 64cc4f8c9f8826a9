//! A step of a user load: users spread over threads, one common window.

use std::ops::Range;
use std::sync::mpsc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_cluster::Ranks;
use sharebench_plan::TransactionWork;

use crate::load::extension::{Extension, WindowReport};
use crate::load::observer::LoadObserver;
use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::load::user::environment::LoadEnvironment;
use crate::load::user::thread_context::{ThreadContext, empty_tally};
use crate::load::user::virtual_user::VirtualUser;
use crate::load::window_watch::{account_window, watch_window};
use crate::record::seconds::Seconds;
use crate::record::tally::Tally;
use crate::system::own_descriptors;
use crate::threads::count::threads;
use crate::threads::descriptor_limit::logins_per_thread;
use crate::time::window::Window;

/// One load step: the users of a level, spread over threads, measured in one common window.
///
/// It borrows everything from the run and lives for one step. [`Self::measure`] starts the threads; each thread makes
/// its [`ThreadContext`] and its users, connects them, and runs them through warm-up, measured window and, if the
/// window was not steady, extended windows. Users that share a session share a thread. In virtual time one executor
/// runs all users instead of threads (docs/design/clock-and-recording.md).
pub(crate) struct LoadStep<'a> {
    pub environment: LoadEnvironment<'a>,
    pub work: &'a TransactionWork,
    /// Why a window was not steady; none where it was, or nothing was measured.
    pub unsteady: &'a (dyn Fn(&Seconds) -> Option<String> + Sync),
    /// Numbers of the users that work here.
    pub users: &'a [u32],
    /// The other processes of the step; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
    /// Receives warnings that the user should see while the load runs.
    pub warn: &'a (dyn Fn(String) + Sync),
    /// Receives the progress of the load while it runs.
    pub observer: &'a LoadObserver<'a>,
}

impl LoadStep<'_> {
    /// Runs all users through warm-up and measured window, again for each extension, until the last one has cleaned
    /// up. Returns the counts of the last window. In real time it blocks the calling thread, because users have
    /// threads of their own.
    pub async fn measure(&self) -> Result<Tally, String> {
        let Self { work, warn, ranks, ref environment, .. } = *self;
        let LoadEnvironment { clock, stop, target, .. } = *environment;
        let (turns, own) =
            ranks.map_or((Vec::new(), 0), |ranks| (ranks.division().owners(work.users), ranks.rank()));
        let schedule = &ArrivalSchedule::new(work.pace.clone(), environment.seed, turns, own);
        let unsteady = &|seconds: &Seconds| (self.unsteady)(seconds);
        let mut extension = Extension { work, unsteady, clock, stop, schedule, warn, ranks, extensions: 0 };
        if clock.is_virtual() {
            return Ok(self.run_thread(0..1, schedule, |report| extension.agreed(Ok(report))).await);
        }
        let sessions = self.users.len().div_ceil(work.users_per_session as usize);
        let threads = threads(sessions as u32, target.capabilities().blocking);
        let joined = std::thread::scope(|scope| {
            let mut workers = Vec::new();
            let mut starts = Vec::new();
            let mut reports = Vec::new();
            for thread in 0..threads {
                let (start, begin) = mpsc::channel::<Window>();
                let (ended, report) = mpsc::channel::<Option<WindowReport>>();
                starts.push(start);
                reports.push(report);
                workers.push(scope.spawn(move || {
                    if target.capabilities().blocking {
                        own_descriptors();
                    }
                    clock.block_on(self.run_thread(thread..threads, schedule, |report| {
                        let _ = ended.send(report);
                        begin.recv().ok()
                    }))
                }));
            }
            // A failed thread sends no further window, and its error is returned when it is joined. Other ranks must learn of it.
            while let Some(window) = extension.agreed(all_of(&reports)) {
                for start in &starts {
                    let _ = start.send(window);
                }
            }
            drop(starts);
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        Tally::of_threads(joined)
    }

    /// The users of the first of these threads, from connecting to logging off; `next` gives the first window
    /// once all are connected, and one after what is said of the last; none when there is no more.
    async fn run_thread(
        &self,
        Range { start: thread, end: threads }: Range<u32>,
        schedule: &ArrivalSchedule,
        mut next: impl FnMut(Option<WindowReport>) -> Option<Window>,
    ) -> Tally {
        let context = ThreadContext::new(&self.environment, self.work, schedule, false);
        let clock = context.clock;
        // Those who share a session share a thread.
        let groups = (0..).zip(self.users.chunks(self.work.users_per_session as usize));
        let own = groups.skip(thread as usize).step_by(threads.max(1) as usize);
        let users = own.flat_map(|(group, numbers)| numbers.iter().map(move |number| (*number, group)));
        let mut users: Vec<VirtualUser<'_>> =
            users.map(|(number, group)| VirtualUser::new(&context, number, group)).collect();
        let ready = async |user: &mut VirtualUser<'_>| {
            user.connect().await;
            self.observer.ready(clock.now(), self.users.len() as u32);
        };
        let logins = logins_per_thread(threads);
        join_some(users.iter_mut().map(ready), logins).await;
        let mut report: Option<WindowReport> = None;
        while let Some(window) = next(report.take()) {
            // What failed while connecting belongs to the first window. A longer window leaves out the one before.
            if context.tally.borrow().span.is_some() {
                context.tally.replace(empty_tally(self.work));
            }
            context.open_window(window);
            for user in &users {
                user.activity.leaves.set(window.end);
            }
            let work = join_all(users.iter_mut().map(|user| user.work(window)));
            let ((), cpu) = tokio::join!(work, watch_window(&context, window, self.observer));
            context.close_window();
            let mut tally = context.tally.borrow_mut();
            account_window(&mut tally, window, cpu);
            report = Some(WindowReport::from_tally(&tally));
        }
        join_some(users.into_iter().map(VirtualUser::clean), logins).await;
        context.tally.take()
    }
}

/// Merges the reports of all threads about a window. There is no report before the first window, and an error if a
/// thread has ended.
fn all_of(reports: &[mpsc::Receiver<Option<WindowReport>>]) -> Result<Option<WindowReport>, mpsc::RecvError> {
    let mut all: Option<WindowReport> = None;
    for report in reports {
        if let Some(report) = report.recv()? {
            all.get_or_insert_default().merge(&report);
        }
    }
    Ok(all)
}

/// Drives many futures on one thread; each is polled only when it was woken.
async fn join_all<F: Future<Output = ()>>(futures: impl Iterator<Item = F>) {
    join_some(futures, usize::MAX).await;
}

/// Drives many futures on one thread, at most `at_once` of them at a time; the others start later.
async fn join_some<F: Future<Output = ()>>(mut futures: impl Iterator<Item = F>, at_once: usize) {
    let mut begun = FuturesUnordered::new();
    loop {
        while begun.len() < at_once
            && let Some(future) = futures.next()
        {
            begun.push(future);
        }
        if begun.next().await.is_none() {
            return;
        }
    }
}
