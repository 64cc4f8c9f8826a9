//! A job of a test of locks: the sessions, directories and verification of a metadata job, and operations on one file.

use sharebench_model::{ErrorClass, JobShare, OpError, OpStep, OpenHow, StepError};
use sharebench_plan::MetadataWork;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::own_file;
use crate::metadata::job::{JobParts, MetadataJob};
use crate::metadata::lock_contest::LockContest;
use crate::metadata::lock_operations::{
    LockSubject, Lockable, close_semaphore, lock, lock_and_unlock, open_denying, open_semaphore,
    rejected_open, semaphore_name, unlock,
};
use crate::metadata::wrong_reply::wrong;
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
    subject: LockSubject,
    contest: &'a LockContest,
}

/// How a job ended its wait for the contested lock.
enum Wait {
    Granted,
    /// The round was over before.
    Over,
}

impl<'a> LockJob<'a> {
    pub fn new(job: MetadataJob<'a>, subject: LockSubject, contest: &'a LockContest) -> Self {
        Self { job, subject, contest }
    }

    /// The file that the job works on: that of all jobs, or its own. A semaphore has the name of the file of all jobs, which
    /// differs between runs.
    fn path(&self) -> String {
        let MetadataJob { cell, number, source, .. } = &self.job;
        match self.subject {
            LockSubject::NeighbouringRanges | LockSubject::SameRange => source.clone(),
            LockSubject::Semaphore => semaphore_name(source),
            LockSubject::OwnFile | LockSubject::DeniedFile => own_file(cell.work, cell.set, *number),
        }
    }

    /// The first byte that the job locks.
    fn offset(&self) -> u64 {
        let neighbours = self.subject == LockSubject::NeighbouringRanges;
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
        let file = match self.subject {
            LockSubject::Semaphore => {
                open_semaphore(path, &mut self.job.connected()?).await?;
                return Ok(Lockable::Semaphore);
            }
            LockSubject::DeniedFile => open_denying(path, &mut self.job.second()?).await?,
            _ => self.job.connected()?.open(path, OpenHow::ReadWrite).await?.0,
        };
        Ok(Lockable::Range(file, offset))
    }

    /// Closes what [`Self::open`] opened, which releases its locks.
    async fn close(&mut self, opened: Lockable) -> Result<(), OpError> {
        match opened {
            Lockable::Range(file, _) if self.subject == LockSubject::DeniedFile => {
                self.job.second()?.close(file).await
            }
            Lockable::Range(file, _) => self.job.connected()?.close(file).await,
            Lockable::Semaphore => close_semaphore(&mut self.job.connected()?).await,
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
        let round = self.job.begin_round()?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = if self.job.cell.work.test.hands_over() {
            self.contend(locked_at, wanted).await
        } else {
            self.repeat(locked_at, path, wanted).await
        };
        self.job.end_round(round, passes, result)
    }

    /// Operations that need no other job.
    async fn repeat(&mut self, locked_at: Lockable, path: &str, wanted: u64) -> Result<(), StepError> {
        let subject = self.subject;
        let JobParts { first: mut at, tally, .. } = self.job.parts()?;
        for _ in 0..wanted {
            at.context.check_stop()?;
            if subject == LockSubject::DeniedFile {
                rejected_open(path, &mut at, tally).await?;
            } else {
                lock_and_unlock(locked_at, &mut at, tally).await?;
            }
        }
        Ok(())
    }

    /// Locks and unlocks the range that all jobs lock until it was handed over `wanted` times. A holder waits until another job
    /// has requested the range, and requests it again only when another job has had it.
    async fn contend(&mut self, locked_at: Lockable, wanted: u64) -> Result<(), StepError> {
        let contest = self.contest;
        let job = self.job.number;
        let JobParts { first: mut at, tally, .. } = self.job.parts()?;
        while !contest.is_over(wanted) {
            at.context.check_stop()?;
            contest.enter();
            let requested = at.context.clock.now();
            let waited = wait_for_lock(locked_at, wanted, contest, &mut at).await;
            contest.leave();
            match waited {
                Ok(Wait::Granted) => {}
                Ok(Wait::Over) => break,
                Err(error) => return ended_by(error, contest, tally),
            }
            let granted = at.context.clock.now();
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
            while !contest.is_over(wanted) && !contest.is_wanted() && !at.context.stop.is_stopped() {
                pause(PAUSE_NS, at.context).await;
            }
            pause(HOLD_NS, at.context).await;
            contest.release(job, at.context.clock.now());
            if let Err(error) = unlock(locked_at, &mut at).await {
                return ended_by(error, contest, tally);
            }
            while !contest.is_over(wanted) && contest.grants() == grant.number {
                at.context.check_stop()?;
                pause(PAUSE_NS, at.context).await;
            }
        }
        Ok(())
    }
}

/// Waits for the contested lock: by a request for which the server waits where the protocol has it, and by requests one after
/// the other where it rejects them.
async fn wait_for_lock(
    locked_at: Lockable,
    wanted: u64,
    contest: &LockContest,
    at: &mut Connected<'_, '_>,
) -> Result<Wait, OpError> {
    let limit = at.context.deadline.limit();
    let end = at.context.clock.now().saturating_add(limit.as_nanos() as u64);
    loop {
        match lock(locked_at, true, at).await {
            Ok(()) => return Ok(Wait::Granted),
            Err(error) if error.class != ErrorClass::Busy => return Err(error),
            Err(_) if contest.is_over(wanted) || at.context.stop.is_stopped() => return Ok(Wait::Over),
            Err(_) if at.context.clock.now() >= end => {
                let detail = format!("the lock or semaphore was not granted within {limit:?}");
                return Err(OpError::new(ErrorClass::Timeout, OpStep::Reply, detail));
            }
            Err(_) => pause(PAUSE_NS, at.context).await,
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

impl PhasedJob for LockJob<'_> {
    type State = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Prepare { .. } => self.contest.reset(),
            _ => {}
        }
        self.job.perform(phase).await
    }

    fn end(self) -> (Tally, JobShare, BatchState) {
        self.job.end()
    }
}
