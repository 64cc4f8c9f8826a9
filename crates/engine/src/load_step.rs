//! A step of a user load: motors spread over threads, one common window.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError, OpenHow, Slot, Stability};
use sharebench_plan::{TransactionWork, Verify};
use sharebench_target::{SessionSpec, Target};

use crate::clock::Clock;
use crate::files::TargetFiles;
use crate::motor::{Crew, Motor, Window};
use crate::own_files::own_files;
use crate::pass::PassContext;
use crate::schedule::Schedule;
use crate::stamp::{self, Content};
use crate::stop::StopSignal;
use crate::tally::Tally;
use crate::transaction::{blocks, set_file_id};

/// Between the last motor's login and the first transaction.
const GRACE: Duration = Duration::from_millis(20);

/// Writes the shared data set once per target; later steps find it there.
pub(crate) async fn prepare_set(
    work: &TransactionWork,
    files: &mut TargetFiles,
    written: &mut bool,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    if *written || !work.workload.reads() {
        return Ok(());
    }
    for (index, file) in work.workload.files.iter().enumerate() {
        let path = files.path(&format!("set-{}", file.name));
        let session = files.session.as_mut();
        let open = MetaOp::open(path, OpenHow::CreateNew);
        let MetaYield::Opened { file: handle, .. } = context.deadline.call(session, open).await? else {
            return Err(OpError::new(ErrorClass::Protocol, "open", "no file in the reply"));
        };
        let content = Content { file: set_file_id(index), generation: 1 };
        let mut replies = Vec::new();
        for (offset, len) in blocks(file.bytes, work.workload.block) {
            stamp::fill(&mut session.buffer(Slot(0))[..len as usize], content, offset);
            let stability = Stability::Unstable;
            session.submit(Slot(0), sharebench_model::DataOp::Write { file: handle, offset, len, stability });
            context.deadline.replies(session, &mut replies).await?;
            replies.swap_remove(0).result?;
        }
        session.submit(Slot(0), sharebench_model::DataOp::Flush { file: handle });
        context.deadline.replies(session, &mut replies).await?;
        replies.swap_remove(0).result?;
        context.deadline.call(session, MetaOp::Close { file: handle }).await?;
    }
    *written = true;
    Ok(())
}

/// What a step needs to know of its run.
pub(crate) struct LoadStep<'a> {
    pub target: &'a dyn Target,
    pub work: &'a TransactionWork,
    pub clock: &'a Clock,
    pub stop: &'a StopSignal,
    pub verify: Verify,
    pub timeout: Duration,
    pub directory: &'a str,
    pub seed: u64,
}

impl LoadStep<'_> {
    /// Runs all motors through warm-up and measure, until the last has cleaned up. In real time it blocks
    /// the calling thread, because motors have threads of their own.
    pub async fn measure(&self) -> Result<Tally, String> {
        let schedule = Schedule::new(self.work.pace, self.seed);
        let schedule = &schedule;
        if self.clock.is_virtual() {
            return Ok(self.crew(0..1, schedule, || Some(self.window())).await);
        }
        let threads = threads(self.work.motors, self.target.capabilities().blocking);
        let (ready_sender, ready) = mpsc::channel::<()>();
        let joined = std::thread::scope(|scope| {
            let mut workers = Vec::new();
            let mut starts = Vec::new();
            for thread in 0..threads {
                let (start, begin) = mpsc::channel::<Window>();
                let ready = ready_sender.clone();
                starts.push(start);
                workers.push(scope.spawn(move || {
                    own_files();
                    self.clock.block_on(self.crew(thread..threads, schedule, || {
                        let _ = ready.send(());
                        begin.recv().ok()
                    }))
                }));
            }
            drop(ready_sender);
            for _ in 0..threads {
                // A thread that failed before it was ready tells so when it is joined.
                let _ = ready.recv();
            }
            let window = self.window();
            for start in starts {
                let _ = start.send(window);
            }
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut total = Tally::default();
        for tally in joined {
            let tally = tally.map_err(|_| "a motor thread panicked".to_owned())?;
            total.merge(tally.map_err(|error| format!("a motor thread could not start: {error}"))?);
        }
        Ok(total)
    }

    fn window(&self) -> Window {
        let start = self.clock.now() + GRACE.as_nanos() as u64;
        let measure = start + self.work.warm_up.as_nanos() as u64;
        Window { start, measure, end: measure + self.work.measure.as_nanos() as u64 }
    }

    /// The motors of the first of these threads, from connecting to logging off; `begin` gives the window once
    /// all are connected, or none when the step will not begin.
    async fn crew(
        &self,
        Range { start: thread, end: threads }: Range<u32>,
        schedule: &Schedule,
        begin: impl FnOnce() -> Option<Window>,
    ) -> Tally {
        let spec =
            SessionSpec { slots: 1, slot_bytes: self.work.workload.block, connect_timeout: self.timeout };
        let tally = Rc::new(RefCell::new(Tally::default()));
        let crew = Crew {
            target: self.target,
            work: self.work,
            schedule,
            clock: self.clock,
            stop: self.stop,
            verify: self.verify,
            timeout: self.timeout,
            directory: self.directory,
            spec,
            seed: self.seed,
            tally: Rc::clone(&tally),
        };
        let mut motors: Vec<Motor<'_>> = (thread..self.work.motors)
            .step_by(threads as usize)
            .map(|number| Motor::new(&crew, number))
            .collect();
        join_all(motors.iter_mut().map(Motor::connect)).await;
        let Some(window) = begin() else { return Tally::default() };
        let work = join_all(motors.iter_mut().map(|motor| motor.work(window)));
        tokio::join!(work, sample_cpu(&crew, window));
        join_all(motors.into_iter().map(Motor::clean)).await;
        drop(crew);
        let mut tally = Rc::try_unwrap(tally).map_or_else(|_| Tally::default(), RefCell::into_inner);
        tally.window_ns = window.end - window.measure;
        tally.busy_ns = 0;
        tally.busiest = tally.cpu;
        tally.spans(window.measure, window.end);
        tally
    }
}

/// Motors that block own a thread; the others share one thread per core.
pub(crate) fn threads(motors: u32, blocking: bool) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    if blocking { motors } else { cores.min(motors) }
}

/// Books the thread's CPU time between the ends of the measured window.
async fn sample_cpu(crew: &Crew<'_>, window: Window) {
    crew.clock.doze_until(window.measure).await;
    let before = crew.clock.thread_cpu();
    while crew.clock.now() < window.end && !crew.stop.is_stopped() {
        let nap = crew.clock.now() + 100_000_000;
        crew.clock.doze_until(nap.min(window.end)).await;
    }
    let after = crew.clock.thread_cpu();
    let mut tally = crew.tally.borrow_mut();
    tally.cpu.user_ns += after.user_ns - before.user_ns;
    tally.cpu.kernel_ns += after.kernel_ns - before.kernel_ns;
}

/// Drives many futures on one thread; each is polled only when it was woken.
async fn join_all<F: Future<Output = ()>>(futures: impl Iterator<Item = F>) {
    let mut futures: FuturesUnordered<F> = futures.collect();
    while futures.next().await.is_some() {}
}
