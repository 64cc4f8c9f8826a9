//! Throughput mode: several jobs at once on files of their own or on parts of one, in rounds over a
//! common window.
//!
//! In a round every job makes the same number of whole passes. The round's window runs from the first
//! job's start to the last one's end, and the cell's rate is all bytes by the sum of its windows. IOzone
//! by default stops everybody when the first worker is done (its "stonewall"); here nobody is stopped, the
//! jobs' shares show how evenly they worked, and a window in which some were idle is marked.

use std::sync::mpsc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_cluster::Ranks;
use sharebench_model::{CpuTime, JobShare, StepError};
use sharebench_plan::{RecordWork, ServerCacheState, Start};

use crate::cell::access_pattern::FilePart;
use crate::cell::cell_context::CellContext;
use crate::cell::file_names::job_file_name;
use crate::cell::job::{Job, Phase};
use crate::cell::ranked_files::{given_back_to_ranks, lent_by_ranks};
use crate::cell::record_step::MAX_WALL;
use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::ranks::agreement::{agreed, common_start, together};
use crate::record::tally::Tally;
use crate::system::own_descriptors;
use crate::threads::count::threads;
use crate::time::clock::ClockError;

/// Maximum number of passes of one job in one round, however short they are.
const MAX_PASSES: u64 = 1 << 20;

/// The first start and last end of a phase, or the reason why it failed.
type Span = Result<Option<(u64, u64)>, StepError>;

/// Measures a throughput cell. In real time it blocks the calling thread until the last job has left,
/// because jobs have threads of their own.
pub(crate) async fn measure(
    cell: &CellContext<'_>,
    jobs: u32,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<Tally, StepError> {
    let numbers = cell.numbers(jobs);
    let files = lend(cell, &numbers, target, context).await?;
    let drained = target.drain(context).await;
    agreed(cell.ranks, drained)?;
    let job_files: JobFiles = numbers.iter().copied().zip(files).collect();
    let (window, returned_by_thread) = if cell.clock.is_virtual() {
        let mut thread_jobs = ThreadJobs::new(cell, job_files);
        let window = rounds(cell, async |phase| thread_jobs.perform(phase).await).await;
        (window, vec![thread_jobs.end()])
    } else {
        on_threads(cell, job_files)?
    };
    let mut total = Tally::default();
    target.merge_pending_failures(&mut total);
    let mut returned = Vec::new();
    for (tally, jobs) in returned_by_thread {
        total.merge(tally);
        returned.extend(jobs);
    }
    // Threads end in any order; the shares of jobs are stored by number.
    returned.sort_by_key(|(number, ..)| *number);
    let mut back = Vec::new();
    for (_, share, file) in returned {
        total.users_reported += u32::from(share.passes > 0);
        total.shares.push(share);
        back.push(file);
    }
    take_back(cell, jobs, &numbers, back, target)?;
    total.window_ns = window?;
    // Busy times of concurrent jobs overlap; the window divides the bytes of a cell with jobs
    // (docs/adr/0011).
    total.busy_ns = 0;
    total.response = total.service.clone();
    Ok(total)
}

/// Rounds with the jobs spread over threads; what the threads gave back, and the sum of the windows.
fn on_threads(
    cell: &CellContext<'_>,
    job_files: JobFiles,
) -> Result<(Result<u64, StepError>, Vec<Returned>), StepError> {
    let blocking = cell.target.capabilities().blocking;
    let threads = threads(job_files.len() as u32, blocking);
    let mut per_thread: Vec<JobFiles> = (0..threads).map(|_| JobFiles::new()).collect();
    for (place, job) in job_files.into_iter().enumerate() {
        per_thread[place % threads.max(1) as usize].push(job);
    }
    let (window, joined) = std::thread::scope(|scope| {
        let mut channels = Vec::new();
        let mut workers = Vec::new();
        for job_files in per_thread {
            let (send_phase, phases) = mpsc::channel();
            let (send_span, spans) = mpsc::channel();
            workers.push(scope.spawn(move || {
                // Sessions on local paths are opened and closed by this thread, so it can have a descriptor
                // table of its own.
                if blocking {
                    own_descriptors();
                }
                cell.clock.block_on(async {
                    let mut thread_jobs = ThreadJobs::new(cell, job_files);
                    while let Ok(phase) = phases.recv() {
                        let _ = send_span.send(thread_jobs.perform(phase).await);
                    }
                    thread_jobs.end()
                })
            }));
            channels.push((send_phase, spans));
        }
        // `all` blocks until the threads have answered, so the future is ready at its first poll.
        let window = rounds(cell, async |phase| all(&channels, phase)).now_or_never();
        // A thread ends when its channel is closed.
        drop(channels);
        (window, workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>())
    });
    let broken = |why: &str| StepError::EngineFailed(format!("a job thread {why}"));
    let result_of = |thread: std::thread::Result<Result<Returned, ClockError>>| {
        let ended = thread.map_err(|_| broken("panicked"))?;
        ended.map_err(|error| broken(&format!("could not start: {error}")))
    };
    let returned_by_thread = joined.into_iter().map(result_of).collect::<Result<_, _>>()?;
    Ok((window.unwrap_or_else(|| Err(broken("was not waited for"))), returned_by_thread))
}

/// Phases in their order until the sample is full; gives the sum of the windows.
async fn rounds(cell: &CellContext<'_>, mut here: impl AsyncFnMut(Phase) -> Span) -> Result<u64, StepError> {
    let mut all = async |phase| together(cell.clock, cell.ranks, here(phase).await);
    let work = cell.work;
    let start = cell.work.test.start();
    let fresh = start == Start::Fresh;
    // A pass that needs a new file, an empty cache or a file to be opened again runs on its own.
    let cold = start == Start::Cold && cell.target.capabilities().drop_cache;
    let displaced = work.server_cache == ServerCacheState::Cold;
    let alone = fresh || cold || displaced || work.include_close;
    let sample = work.min_sample_time.as_nanos() as u64;
    let mut window = 0;
    let mut done = 0;
    let mut passes = 1;
    let mut first = true;
    let begin = all(Phase::Connect).await?.now;
    let mut now = begin;
    while first || (!work.passes_once() && window < sample && now - begin < sample * MAX_WALL) {
        if fresh {
            all(Phase::Create).await?;
        }
        all(Phase::Prepare { first }).await?;
        let span = all(Phase::Run { passes, at: common_start(cell.clock, cell.ranks)? }).await?.span;
        now = all(Phase::Release).await?.now;
        if fresh {
            now = all(Phase::Remove).await?.now;
        }
        let (from, to) = span.unwrap_or_default();
        (window, done, first) = (window + (to - from), done + passes, false);
        if !alone {
            let left = u128::from(sample.saturating_sub(window)) * u128::from(done);
            // As many passes as the remaining sample probably takes: one long round has less idle time at its
            // end than many short ones.
            passes = (left.div_ceil(u128::from(window.max(1))) as u64).clamp(1, MAX_PASSES);
        }
    }
    all(Phase::Leave).await?;
    Ok(window)
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

/// The numbers of the jobs of one thread, and their files.
type JobFiles = Vec<(u32, FileState)>;

/// What the jobs of one thread return: their tally, and for each job its number, its share and its file.
type Returned = (Tally, Vec<(u32, JobShare, FileState)>);

/// The jobs of one thread. They share the thread's runtime, and each of them has its own session.
struct ThreadJobs<'a> {
    cell: &'a CellContext<'a>,
    jobs: Vec<(u32, Job<'a>)>,
    cpu: CpuTime,
}

impl<'a> ThreadJobs<'a> {
    fn new(cell: &'a CellContext<'a>, job_files: JobFiles) -> Self {
        let job = |(number, file)| (number, Job::new(cell, number, file));
        Self { cell, jobs: job_files.into_iter().map(job).collect(), cpu: CpuTime::default() }
    }

    /// Performs a phase on every job of the thread concurrently.
    async fn perform(&mut self, phase: Phase) -> Span {
        let before = self.cell.clock.thread_cpu();
        let mut tasks: FuturesUnordered<_> =
            self.jobs.iter_mut().map(|(_, job)| job.perform(phase)).collect();
        let mut span = Ok(None);
        while let Some(next) = tasks.next().await {
            span = joined(span, next);
        }
        drop(tasks);
        if matches!(phase, Phase::Run { .. }) {
            let spent = self.cell.clock.thread_cpu();
            self.cpu.user_ns += spent.user_ns - before.user_ns;
            self.cpu.kernel_ns += spent.kernel_ns - before.kernel_ns;
        }
        span
    }

    fn end(self) -> Returned {
        let mut total = Tally::default();
        let mut returned = Vec::new();
        for (number, job) in self.jobs {
            let share = job.share();
            let mut tally = job.tally;
            // Jobs that share a thread have no CPU time of their own, only the thread has.
            tally.cpu = CpuTime::default();
            total.merge(tally);
            returned.push((number, share, job.file));
        }
        (total.cpu, total.busiest) = (self.cpu, self.cpu);
        (total, returned)
    }
}

/// Makes sure that the files of a cell are there, those that its test does not make itself: of this process's jobs
/// only, and a shared one by the leader.
pub(crate) async fn prepare(
    work: &RecordWork,
    ranks: Option<&Ranks>,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    let jobs = work.jobs.unwrap_or(1);
    let numbers = match ranks {
        Some(ranks) if work.shared_file => (0..u32::from(ranks.is_leader())).collect(),
        Some(ranks) => ranks.users(jobs),
        None => (0..if work.shared_file { 1 } else { jobs }).collect::<Vec<_>>(),
    };
    if ranks.is_none_or(Ranks::is_leader) {
        target.ensure_displacing(work, context).await?;
    }
    for number in numbers.into_iter().filter(|_| work.test.start() != Start::Fresh) {
        target.ensure_for(work, &job_file_name(work, number), context).await?;
    }
    Ok(())
}

/// The files that the jobs will work on, written where the test needs them complete. Jobs that share
/// one file have a copy each of what it should hold, of which each keeps its own part up to date.
async fn lend(
    cell: &CellContext<'_>,
    numbers: &[u32],
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<Vec<FileState>, StepError> {
    let size = cell.work.file_size;
    let fresh = cell.work.test.start() == Start::Fresh;
    let prepared = prepare(cell.work, cell.ranks, target, context).await;
    agreed(cell.ranks, prepared)?;
    if let Some(lent) = lent_by_ranks(cell, numbers, target)? {
        return Ok(lent);
    }
    let mut files = Vec::new();
    for &number in numbers {
        let name = job_file_name(cell.work, number);
        let first = files.first().cloned();
        files.push(match first.filter(|_| cell.work.shared_file) {
            Some(shared) => shared,
            None if fresh => target.unmade(&name, size),
            None => {
                let lent = target.files.get(&name).cloned();
                lent.ok_or_else(|| StepError::EngineFailed(format!("{name} is not there")))?
            }
        });
    }
    Ok(files)
}

/// Records in the target's files what the jobs left in theirs.
fn take_back(
    cell: &CellContext<'_>,
    jobs: u32,
    numbers: &[u32],
    files: Vec<FileState>,
    target: &mut TargetFiles,
) -> Result<(), StepError> {
    if cell.work.test.start() == Start::Fresh {
        return Ok(());
    }
    if given_back_to_ranks(cell, jobs, numbers, &files, target)? {
        return Ok(());
    }
    for (number, file) in numbers.iter().copied().zip(files) {
        let part =
            if cell.work.shared_file { FilePart { index: number, count: jobs } } else { FilePart::WHOLE };
        let range = part.bytes(cell.work);
        if let Some(known) = target.files.get_mut(&job_file_name(cell.work, number)) {
            known.adopt(&file, range);
        }
    }
    Ok(())
}
