//! Rounds of phases that several jobs perform at once, spread over threads, in real and in virtual time.
//!
//! In a round every job makes the same number of whole passes. The round's window runs from the first
//! job's start to the last one's end, and the cell's rate is everything that was done by the sum of its windows.

use std::sync::mpsc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_cluster::Ranks;
use sharebench_model::{CpuTime, JobShare, StepError};

use crate::cell::record_step::MAX_WALL;
use crate::ranks::agreement::{common_start, together};
use crate::record::tally::Tally;
use crate::system::own_descriptors;
use crate::threads::count::threads;
use crate::time::clock::{Clock, ClockError};

/// Maximum number of passes of one job in one round, however short they are.
const MAX_PASSES: u64 = 1 << 20;

/// The first start and last end of a phase, or the reason why it failed.
pub(crate) type Span = Result<Option<(u64, u64)>, StepError>;

/// A part of a round that every job completes before any job begins the next one. The job that creates a shared file
/// has to be done before others open it, and a measured pass starts when all jobs are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Open a session.
    Connect,
    /// Make a new file.
    Create,
    /// Opens the file and brings it into the state that the test requires.
    Prepare { first: bool },
    /// N measured passes.
    Run {
        passes: u64,
        /// The instant of the start; 0 means at once.
        at: u64,
    },
    /// Give back what preparing took; close a new file.
    Release,
    /// Remove a new file.
    Remove,
    /// Log off.
    Leave,
}

/// A job of a cell that performs one phase after the other, always on the same thread.
pub(crate) trait PhasedJob {
    /// What the job needs to begin, and returns at its end.
    type State: Send;

    /// Performs a phase. A measured phase returns its first and last instant.
    async fn perform(&mut self, phase: Phase) -> Span;

    /// What the job counted, its contribution to the cell, and what it was lent.
    fn end(self) -> (Tally, JobShare, Self::State);
}

/// How the rounds of a cell follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundRules {
    /// Each round creates the file of each job, and removes it.
    pub creates: bool,
    /// A round has one pass: the next one needs to be prepared.
    pub alone: bool,
    /// There is one round.
    pub once: bool,
    /// Windows to reach together, nanoseconds.
    pub sample_ns: u64,
}

/// Where the rounds of a cell run.
pub(crate) struct RoundContext<'a> {
    pub clock: &'a Clock,
    /// The other processes of the cell; none for one that is alone.
    pub ranks: Option<&'a Ranks>,
    /// Operations of the target block their thread.
    pub blocking: bool,
    pub rules: RoundRules,
}

/// What all jobs of a cell counted, and what each of them was lent, by number.
pub(crate) struct RoundsDone<L> {
    pub tally: Tally,
    pub returned: Vec<(u32, JobShare, L)>,
    /// The sum of the windows.
    pub window: Result<u64, StepError>,
}

impl RoundContext<'_> {
    /// Lets the jobs that `make` returns work in rounds until the sample is full. In real time it blocks the calling
    /// thread until the last job has left, because jobs have threads of their own.
    pub async fn measure<J: PhasedJob>(
        &self,
        lent: Vec<(u32, J::State)>,
        make: impl Fn(u32, J::State) -> J + Sync,
    ) -> Result<RoundsDone<J::State>, StepError> {
        let (window, by_thread) = if self.clock.is_virtual() {
            let mut jobs = ThreadJobs::new(self.clock, lent, &make);
            let window = self.rounds(async |phase| jobs.perform(phase).await).await;
            (window, vec![jobs.end()])
        } else {
            self.on_threads(lent, &make)?
        };
        let mut tally = Tally::default();
        let mut returned = Vec::new();
        for (of_thread, jobs) in by_thread {
            tally.merge(of_thread);
            returned.extend(jobs);
        }
        // Threads end in any order; the shares of jobs are stored by number.
        returned.sort_by_key(|(number, ..)| *number);
        Ok(RoundsDone { tally, returned, window })
    }

    /// Rounds with the jobs spread over threads; what the threads gave back, and the sum of the windows.
    fn on_threads<J: PhasedJob>(
        &self,
        lent: Vec<(u32, J::State)>,
        make: &(impl Fn(u32, J::State) -> J + Sync),
    ) -> Result<OfThreads<J::State>, StepError> {
        let blocking = self.blocking;
        let clock = self.clock;
        let threads = threads(lent.len() as u32, blocking);
        let mut per_thread: Vec<Vec<(u32, J::State)>> = (0..threads).map(|_| Vec::new()).collect();
        for (place, job) in lent.into_iter().enumerate() {
            per_thread[place % threads.max(1) as usize].push(job);
        }
        let (window, joined) = std::thread::scope(|scope| {
            let mut channels = Vec::new();
            let mut workers = Vec::new();
            for lent in per_thread {
                let (send_phase, phases) = mpsc::channel();
                let (send_span, spans) = mpsc::channel();
                workers.push(scope.spawn(move || {
                    // Sessions on local paths are opened and closed by this thread, so it can have a descriptor
                    // table of its own.
                    if blocking {
                        own_descriptors();
                    }
                    clock.block_on(async {
                        let mut jobs = ThreadJobs::new(clock, lent, make);
                        while let Ok(phase) = phases.recv() {
                            let _ = send_span.send(jobs.perform(phase).await);
                        }
                        jobs.end()
                    })
                }));
                channels.push((send_phase, spans));
            }
            // `all` blocks until the threads have answered, so the future is ready at its first poll.
            let window = self.rounds(async |phase| all(&channels, phase)).now_or_never();
            // A thread ends when its channel is closed.
            drop(channels);
            (window, workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>())
        });
        let broken = |why: &str| StepError::EngineFailed(format!("a job thread {why}"));
        let result_of = |thread: std::thread::Result<Result<Returned<J::State>, ClockError>>| {
            let ended = thread.map_err(|_| broken("panicked"))?;
            ended.map_err(|error| broken(&format!("could not start: {error}")))
        };
        let returned_by_thread = joined.into_iter().map(result_of).collect::<Result<_, _>>()?;
        Ok((window.unwrap_or_else(|| Err(broken("was not waited for"))), returned_by_thread))
    }

    /// Phases in their order until the sample is full; gives the sum of the windows.
    async fn rounds(&self, mut here: impl AsyncFnMut(Phase) -> Span) -> Result<u64, StepError> {
        let mut all = async |phase| together(self.clock, self.ranks, here(phase).await);
        let RoundRules { creates, alone, once, sample_ns } = self.rules;
        let mut window = 0;
        let mut done = 0;
        let mut passes = 1;
        let mut first = true;
        let begin = all(Phase::Connect).await?.now;
        let mut now = begin;
        while first || (!once && window < sample_ns && now - begin < sample_ns * MAX_WALL) {
            if creates {
                all(Phase::Create).await?;
            }
            all(Phase::Prepare { first }).await?;
            let span = all(Phase::Run { passes, at: common_start(self.clock, self.ranks)? }).await?.span;
            now = all(Phase::Release).await?.now;
            if creates {
                now = all(Phase::Remove).await?.now;
            }
            let (from, to) = span.unwrap_or_default();
            (window, done, first) = (window + (to - from), done + passes, false);
            if now == begin {
                // In virtual time a target may answer at once: no repetition would ever fill the sample.
                break;
            }
            if !alone {
                let left = u128::from(sample_ns.saturating_sub(window)) * u128::from(done);
                // As many passes as the remaining sample probably takes: one long round has less idle time at its
                // end than many short ones.
                passes = (left.div_ceil(u128::from(window.max(1))) as u64).clamp(1, MAX_PASSES);
            }
        }
        all(Phase::Leave).await?;
        Ok(window)
    }
}

/// Has every thread perform a phase; the whole span of it, or the first failure once all have answered.
fn all(channels: &[(mpsc::Sender<Phase>, mpsc::Receiver<Span>)], phase: Phase) -> Span {
    for (phases, _) in channels {
        // A thread that is gone says why when it is joined.
        let _ = phases.send(phase);
    }
    let gone = || Err(StepError::EngineFailed("a job thread is gone".into()));
    let spans = channels.iter().map(|(_, spans)| spans.recv().unwrap_or_else(|_| gone()));
    spans.collect::<Vec<_>>().into_iter().reduce(joined).unwrap_or(Ok(None))
}

fn joined(a: Span, b: Span) -> Span {
    Ok(match (a?, b?) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    })
}

/// The sum of the windows, and what the jobs of each thread return.
type OfThreads<L> = (Result<u64, StepError>, Vec<Returned<L>>);

/// What the jobs of one thread return: their tally, and for each job its number, its share and what it was lent.
type Returned<L> = (Tally, Vec<(u32, JobShare, L)>);

/// The jobs of one thread. They share the thread's runtime, and each of them has its own session.
struct ThreadJobs<'a, J> {
    clock: &'a Clock,
    jobs: Vec<(u32, J)>,
    cpu: CpuTime,
}

impl<'a, J: PhasedJob> ThreadJobs<'a, J> {
    fn new(clock: &'a Clock, lent: Vec<(u32, J::State)>, make: &impl Fn(u32, J::State) -> J) -> Self {
        let jobs = lent.into_iter().map(|(number, lent)| (number, make(number, lent))).collect();
        Self { clock, jobs, cpu: CpuTime::default() }
    }

    /// Performs a phase on every job of the thread concurrently.
    async fn perform(&mut self, phase: Phase) -> Span {
        let before = self.clock.thread_cpu();
        let mut tasks: FuturesUnordered<_> =
            self.jobs.iter_mut().map(|(_, job)| job.perform(phase)).collect();
        let mut span = Ok(None);
        while let Some(next) = tasks.next().await {
            span = joined(span, next);
        }
        drop(tasks);
        if matches!(phase, Phase::Run { .. }) {
            let spent = self.clock.thread_cpu();
            self.cpu.user_ns += spent.user_ns - before.user_ns;
            self.cpu.kernel_ns += spent.kernel_ns - before.kernel_ns;
        }
        span
    }

    fn end(self) -> Returned<J::State> {
        let mut total = Tally::default();
        let mut returned = Vec::new();
        for (number, job) in self.jobs {
            let (mut tally, share, lent) = job.end();
            // Jobs that share a thread have no CPU time of their own, only the thread has.
            tally.cpu = CpuTime::default();
            total.merge(tally);
            returned.push((number, share, lent));
        }
        (total.cpu, total.busiest) = (self.cpu, self.cpu);
        (total, returned)
    }
}
