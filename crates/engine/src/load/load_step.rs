//! A step of a user load: users spread over threads, one common window.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_cluster::Ranks;
use sharebench_model::{LoadDetail, Part, Timeline};
use sharebench_plan::{Pace, TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::load::extension::{Extension, WindowReport};
use crate::load::observer::{LoadObserver, ReportedCounts};
use crate::load::user::arrival_schedule::ArrivalSchedule;
use crate::load::user::shared_login::Groups;
use crate::load::user::thread_context::ThreadContext;
use crate::load::user::user_files::UserFileStore;
use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;
use crate::record::seconds::Seconds;
use crate::record::tally::Tally;
use crate::threads::count::threads;
use crate::threads::descriptor_limit::logins_per_thread;
use crate::threads::descriptor_table::own_descriptors;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;
use crate::time::window::Window;

/// One load step: the users of a level, spread over threads, measured in one common window.
///
/// It borrows everything from the run and lives for one step. [`Self::measure`] starts the threads; each thread makes
/// its [`ThreadContext`] and its users, connects them, and runs them through warm-up, measured window and, if the
/// window was not steady, extended windows. Users that share a session share a thread. In virtual time one executor
/// runs all users instead of threads (docs/adr/0010).
pub(crate) struct LoadStep<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    /// Why a window was not steady; none where it was, or nothing was measured.
    pub unsteady: &'a (dyn Fn(&Seconds) -> Option<String> + Sync),
    /// Numbers of the users that work here.
    pub users: &'a [u32],
    /// The other processes of the step; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    pub directory: &'a str,
    pub set_directory: &'a str,
    /// Shared files that were read after an outage.
    pub looked_at: &'a AtomicU32,
    /// Users' files between steps.
    pub file_store: &'a UserFileStore,
    pub seed: u64,
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
        let Self { work, clock, stop, warn, ranks, .. } = *self;
        let (turns, own) =
            ranks.map_or((Vec::new(), 0), |ranks| (ranks.division().owners(work.users), ranks.rank()));
        let schedule = &ArrivalSchedule::new(work.pace.clone(), self.seed, turns, own);
        let unsteady = &|seconds: &Seconds| (self.unsteady)(seconds);
        let mut extension = Extension { work, unsteady, clock, stop, schedule, warn, ranks, extensions: 0 };
        if clock.is_virtual() {
            return Ok(self.run_thread(0..1, schedule, |report| extension.agreed(Ok(report))).await);
        }
        let sessions = self.users.len().div_ceil(work.users_per_session as usize);
        let threads = threads(sessions as u32, self.target.capabilities().blocking);
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
                    if self.target.capabilities().blocking {
                        own_descriptors();
                    }
                    self.clock.block_on(self.run_thread(thread..threads, schedule, |report| {
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
        let mut total = Tally::default();
        for tally in joined {
            let tally = tally.map_err(|_| "a user thread panicked".to_owned())?;
            total.merge(tally.map_err(|error| format!("a user thread could not start: {error}"))?);
        }
        Ok(total)
    }

    /// The users of the first of these threads, from connecting to logging off; `next` gives the first window
    /// once all are connected, and one after what is said of the last; none when there is no more.
    async fn run_thread(
        &self,
        Range { start: thread, end: threads }: Range<u32>,
        schedule: &ArrivalSchedule,
        mut next: impl FnMut(Option<WindowReport>) -> Option<Window>,
    ) -> Tally {
        let most = self.target.capabilities().max_record;
        let spec = SessionSpec {
            // One request per user of the session can be in flight, as far as the adapter carries them.
            slots: self.work.users_per_session.min(self.target.shared_queue_depth()).max(1),
            slot_bytes: self.work.workload.largest_request().min(most),
            connect_timeout: self.timeout,
            allow_split: true,
        };
        let tally = Rc::new(RefCell::new(Tally { detail: detail(self.work), ..Tally::default() }));
        let context = ThreadContext {
            target: self.target,
            work: self.work,
            schedule,
            clock: self.clock,
            stop: self.stop,
            verify: self.verify,
            timeout: self.timeout,
            directory: self.directory,
            set_directory: self.set_directory,
            file_store: self.file_store,
            spec,
            seed: self.seed,
            tally: Rc::clone(&tally),
            looked_at: self.looked_at,
            groups: Groups::default(),
        };
        // Those who share a session share a thread.
        let groups = (0..).zip(self.users.chunks(self.work.users_per_session as usize));
        let own = groups.skip(thread as usize).step_by(threads.max(1) as usize);
        let users = own.flat_map(|(group, numbers)| numbers.iter().map(move |number| (*number, group)));
        let mut users: Vec<VirtualUser<'_>> =
            users.map(|(number, group)| VirtualUser::new(&context, number, group)).collect();
        let ready = async |user: &mut VirtualUser<'_>| {
            user.connect().await;
            self.observer.ready(self.clock.now(), self.users.len() as u32);
        };
        let logins = logins_per_thread(threads);
        join_some(users.iter_mut().map(ready), logins).await;
        let mut report: Option<WindowReport> = None;
        while let Some(window) = next(report.take()) {
            // What failed while connecting belongs to the first window.
            let first = tally.borrow().span.is_none();
            let before = if first { tally.take() } else { Tally::default() };
            let timeline = Timeline::over(window.end - window.measure);
            let detail = LoadDetail { timeline, ..detail(self.work) };
            let fresh = Tally { seconds: Seconds::over(window), detail, ..before };
            tally.replace(fresh);
            let work = join_all(users.iter_mut().map(|user| user.work(window)));
            tokio::join!(work, sample_cpu(&context, window, self.observer), note_start(&context, window));
            let mut tally = tally.borrow_mut();
            tally.window_ns = window.end - window.measure;
            // A thread's own CPU time; merging the threads keeps the largest.
            tally.busiest = tally.cpu;
            tally.spans(window.measure, window.end);
            report = Some(WindowReport::of(&tally));
        }
        join_some(users.into_iter().map(VirtualUser::clean), logins).await;
        drop(context);
        Rc::try_unwrap(tally).map_or_else(|_| Tally::default(), RefCell::into_inner)
    }
}

/// Empty parts for all that a workload's users can do, in an order that all threads share.
fn detail(work: &TransactionWork) -> LoadDetail {
    let think_ns = match &work.pace {
        Pace::Closed(think) | Pace::Visits { think, .. } => think.mean().as_nanos() as u64,
        Pace::Open { .. } => 0,
    };
    LoadDetail {
        transactions: work.workload.transactions.iter().map(|t| Part::named(&t.name)).collect(),
        operations: OperationKind::NAMES.map(Part::named).to_vec(),
        think_ns,
        users_per_session: work.users_per_session,
        ..LoadDetail::default()
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

/// Records how late this thread's users started after the announced instant.
async fn note_start(context: &ThreadContext<'_>, window: Window) {
    context.clock.sleep_precise(window.start).await;
    let late_ns = context.clock.now().saturating_sub(window.start);
    let mut tally = context.tally.borrow_mut();
    tally.late_ns = tally.late_ns.max(late_ns);
}

/// Adds the thread's CPU time within the measured window to its tally, and reports progress at intervals.
async fn sample_cpu(context: &ThreadContext<'_>, window: Window, observer: &LoadObserver<'_>) {
    context.clock.sleep_coarse(window.measure).await;
    let before = context.clock.thread_cpu();
    let mut said = ReportedCounts::default();
    while context.clock.now() < window.end && !context.stop.is_stopped() {
        let nap = context.clock.now() + 100_000_000;
        context.clock.sleep_coarse(nap.min(window.end)).await;
        observer.note(context.clock.now(), &context.tally.borrow(), &mut said);
    }
    let after = context.clock.thread_cpu();
    let mut tally = context.tally.borrow_mut();
    tally.cpu.user_ns += after.user_ns - before.user_ns;
    tally.cpu.kernel_ns += after.kernel_ns - before.kernel_ns;
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
