//! A job of a test of locks: the sessions, directories and verification of a metadata job, and operations on one file.

use sharebench_model::{ErrorClass, JobShare, OpError, OpStep, StepError};
use sharebench_plan::{MetadataTest, MetadataWork};
use sharebench_target::Session;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::own_file;
use crate::metadata::job::{MetadataCell, MetadataJob};
use crate::metadata::lock_contest::LockContest;
use crate::metadata::lock_operations::{
    Lockable, close, close_semaphore, lock, lock_and_unlock, open, open_denying, open_semaphore,
    rejected_open, semaphore_name, unlock, wrong,
};
use crate::record::tally::Tally;

/// How long a holder keeps the lock once another job has requested it, so that the request has reached the server before the
/// unlock does: both take the same way.
const HOLD_NS: u64 = 1_000_000;
/// Pause before a lock that a server rejected is requested again, and before a job reads again what others do.
const PAUSE_NS: u64 = 100_000;

/// One of the jobs of a cell of locks. Its files are open during a round only, so that a job that fails or is stopped leaves no
/// lock and no denied file.
pub(crate) struct LockJob<'a> {
    job: MetadataJob<'a>,
    contest: &'a LockContest,
    /// The session that denies the file of `share-conflict`, with its deadline.
    denier: Option<(Box<dyn Session>, PassContext<'a>)>,
}

/// How a job ended its wait for the contested lock.
enum Wait {
    Granted,
    /// The round was over before.
    Over,
}

impl<'a> LockJob<'a> {
    pub fn new(cell: &'a MetadataCell<'a>, number: u32, state: BatchState, contest: &'a LockContest) -> Self {
        Self { job: MetadataJob::new(cell, number, state), contest, denier: None }
    }

    fn test(&self) -> MetadataTest {
        self.job.cell.work.test
    }

    /// The file that the job works on: that of all jobs, or its own. A semaphore has the name of the file of all jobs, which
    /// differs between runs.
    fn path(&self) -> String {
        let MetadataJob { cell, number, source, .. } = &self.job;
        match self.test() {
            MetadataTest::LockNeighbours | MetadataTest::LockContended => source.clone(),
            MetadataTest::Semaphore => semaphore_name(source),
            _ => own_file(cell.work, cell.set, *number),
        }
    }

    /// The first byte that the job locks.
    fn offset(&self) -> u64 {
        let neighbours = self.test() == MetadataTest::LockNeighbours;
        if neighbours { u64::from(self.job.number) * MetadataWork::LOCK_BYTES } else { 0 }
    }

    /// Opens the file, performs the passes and closes the file, whatever happened.
    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        let path = self.path();
        let opened = self.open(&path).await;
        if opened.is_err() {
            self.contest.end();
        }
        let opened = opened?;
        let ran = self.measured(opened, &path, passes, at).await;
        if ran.is_err() {
            self.contest.end();
        }
        let closed = self.close(opened).await;
        let span = ran?;
        closed?;
        Ok(span)
    }

    /// Opens the file for the locks of this job, or denies it to this job by the other session.
    async fn open(&mut self, path: &str) -> Result<Lockable, OpError> {
        let offset = self.offset();
        let is_semaphore = self.test() == MetadataTest::Semaphore;
        let Self { job: MetadataJob { session, context, .. }, denier, .. } = self;
        if let Some((session, context)) = denier {
            let file = open_denying(path, session.as_mut(), context).await?;
            return Ok(Lockable::Range(file, offset));
        }
        let session = session.as_deref_mut().ok_or_else(OpError::no_session)?;
        if is_semaphore {
            return open_semaphore(path, session, context).await.map(|()| Lockable::Semaphore);
        }
        open(path, session, context).await.map(|file| Lockable::Range(file, offset))
    }

    /// Closes what [`Self::open`] opened, which releases its locks.
    async fn close(&mut self, opened: Lockable) -> Result<(), OpError> {
        let Self { job: MetadataJob { session, context, .. }, denier, .. } = self;
        let session = session.as_deref_mut().ok_or_else(OpError::no_session)?;
        match (opened, denier) {
            (Lockable::Range(file, _), Some((session, context))) => {
                close(file, session.as_mut(), context).await
            }
            (Lockable::Range(file, _), None) => close(file, session, context).await,
            (Lockable::Semaphore, _) => close_semaphore(session, context).await,
        }
    }

    async fn measured(
        &mut self,
        locked_at: Lockable,
        path: &str,
        passes: u64,
        at: u64,
    ) -> Result<(u64, u64), StepError> {
        self.job.wait_for_start(at).await;
        let round = self.job.begin_round(None)?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = if self.test().hands_over() {
            self.contend(locked_at, wanted).await
        } else {
            self.repeat(locked_at, path, wanted).await
        };
        self.job.end_round(round, None, (passes, result))
    }

    /// Operations that need no other job.
    async fn repeat(&mut self, at: Lockable, path: &str, wanted: u64) -> Result<(), StepError> {
        let test = self.test();
        let MetadataJob { session, context, tally, .. } = &mut self.job;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session().into()) };
        for _ in 0..wanted {
            stopped(context)?;
            if test == MetadataTest::ShareConflict {
                rejected_open(path, session, context, tally).await?;
            } else {
                lock_and_unlock(at, session, context, tally).await?;
            }
        }
        Ok(())
    }

    /// Locks and unlocks the range that all jobs lock until it was handed over `wanted` times. A holder waits until another job
    /// has requested the range, and requests it again only when another job has had it.
    async fn contend(&mut self, at: Lockable, wanted: u64) -> Result<(), StepError> {
        let Self { job: MetadataJob { number, session, context, tally, .. }, contest, .. } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session().into()) };
        let job = *number;
        while !contest.is_over(wanted) {
            stopped(context)?;
            contest.enter();
            let requested = context.clock.now();
            let waited = wait_for_lock(at, wanted, contest, session, context).await;
            contest.leave();
            match waited {
                Ok(Wait::Granted) => {}
                Ok(Wait::Over) => break,
                Err(error) => return ended_by(error, contest, tally),
            }
            let granted = context.clock.now();
            let grant = contest.grant(job, requested);
            if grant.is_violation {
                contest.end();
                tally.failure(wrong(
                    "the server granted one lock, or the unit of one semaphore, to two jobs at once",
                ));
            }
            if let Some(from) = grant.handed_over_at {
                tally.operation(from, granted);
                // Hand-overs follow each other, so that their times are the time in which one is under way.
                tally.busy_ns += granted - from;
            }
            while !contest.is_over(wanted) && !contest.is_wanted() && !context.stop.is_stopped() {
                pause(PAUSE_NS, context).await;
            }
            pause(HOLD_NS, context).await;
            contest.release(job, context.clock.now());
            if let Err(error) = unlock(at, session, context).await {
                return ended_by(error, contest, tally);
            }
            while !contest.is_over(wanted) && contest.grants() == grant.number {
                stopped(context)?;
                pause(PAUSE_NS, context).await;
            }
        }
        Ok(())
    }
}

/// Waits for the contested lock: by a request for which the server waits where the protocol has it, and by requests one after
/// the other where it rejects them.
async fn wait_for_lock(
    at: Lockable,
    wanted: u64,
    contest: &LockContest,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Wait, OpError> {
    let limit = context.deadline.limit();
    let end = context.clock.now().saturating_add(limit.as_nanos() as u64);
    loop {
        match lock(at, true, session, context).await {
            Ok(()) => return Ok(Wait::Granted),
            Err(error) if error.class != ErrorClass::Busy => return Err(error),
            Err(_) if contest.is_over(wanted) || context.stop.is_stopped() => return Ok(Wait::Over),
            Err(_) if context.clock.now() >= end => {
                let detail = format!("the lock or semaphore was not granted within {limit:?}");
                return Err(OpError::new(ErrorClass::Timeout, OpStep::Reply, detail));
            }
            Err(_) => pause(PAUSE_NS, context).await,
        }
    }
}

/// Counts the failure of a request of the contested lock, which ends the round for all jobs: they would wait for it.
fn ended_by(error: OpError, contest: &LockContest, tally: &mut Tally) -> Result<(), StepError> {
    contest.end();
    Ok(tally.outcome(Err(error))?)
}

async fn pause(nanos: u64, context: &PassContext<'_>) {
    context.clock.sleep_precise(context.clock.now() + nanos).await;
}

fn stopped(context: &PassContext<'_>) -> Result<(), StepError> {
    if context.stop.is_stopped() { Err(StepError::Stopped) } else { Ok(()) }
}

impl PhasedJob for LockJob<'_> {
    type Lent = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Connect if self.test() == MetadataTest::ShareConflict => {
                self.denier = Some(self.job.connect_another().await?);
            }
            Phase::Prepare { .. } => self.contest.reset(),
            Phase::Leave => {
                if let Some((session, _)) = self.denier.take() {
                    session.close().await;
                }
            }
            _ => {}
        }
        self.job.perform(phase).await
    }

    fn end(self) -> (Tally, JobShare, BatchState) {
        self.job.end()
    }
}
