//! A job of a test of leases or delegations: opens that request the right to cache a file, and opens that take it back.

use sharebench_model::{ErrorClass, JobShare, OpError, StepError};
use sharebench_plan::MetadataWork;
use sharebench_target::Session;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::caching_operations::{open_and_close, recall_of_new_file, take_back};
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::own_file;
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::job::{MetadataCell, MetadataJob};
use crate::record::tally::Tally;

/// One of the jobs of a cell of leases or delegations, on a file of its own.
///
/// Where rights are only granted, the session of the job opens and closes the file. Where they are taken back, a second session
/// holds the right, and the session of the job opens the file against it. Files are open within an operation only, so that a
/// job that is stopped between two of them leaves nothing.
pub(crate) struct CachingJob<'a> {
    job: MetadataJob<'a>,
    /// The session that holds the right, with its deadline.
    holder: Option<(Box<dyn Session>, PassContext<'a>)>,
    /// Number of the next file that exists for one recall only.
    next: u32,
}

impl<'a> CachingJob<'a> {
    pub fn new(cell: &'a MetadataCell<'a>, number: u32, state: BatchState) -> Self {
        Self { job: MetadataJob::new(cell, number, state), holder: None, next: 0 }
    }

    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        self.job.wait_for_start(at).await;
        let round = self.job.begin_round(self.holder.as_ref().map(|(holder, _)| holder.as_ref()))?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = self.repeat(wanted).await;
        let holder = self.holder.as_ref().map(|(holder, _)| holder.as_ref());
        self.job.end_round(round, holder, (passes, result))
    }

    async fn repeat(&mut self, wanted: u64) -> Result<(), StepError> {
        let Self { job: MetadataJob { cell, number, session, context, tally, .. }, holder, next } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session().into()) };
        let test = cell.work.test;
        let path = own_file(cell.work, cell.set, *number);
        let directories = cell.set.of_job(cell.work, *number);
        let directory = directories.first().map_or("", |directory| directory.path.as_str());
        for _ in 0..wanted {
            if context.stop.is_stopped() {
                return Err(StepError::Stopped);
            }
            let Some((holder, holding)) = holder.as_mut() else {
                open_and_close(test, &path, session, context, tally).await?;
                continue;
            };
            let holder = (holder.as_mut() as &mut dyn Session, &mut *holding);
            let taken = if test.is_of_delegations() {
                let name = entry_name(EntryKind::Passing, *next, cell.work.name_length);
                // The digits of the shortest name.
                *next = (*next + 1) % 10_000_000;
                let path = format!("{directory}/{name}");
                recall_of_new_file(test, path, holder, (&mut *session, &mut *context), tally).await
            } else {
                take_back(test, &path, holder, (&mut *session, &mut *context), tally).await
            };
            let ends = taken.as_ref().is_err_and(|error| error.class != ErrorClass::Busy);
            tally.outcome(taken)?;
            if ends {
                // The next operations would wait for the timeout as well, so it is the last one of the round.
                return Ok(());
            }
        }
        Ok(())
    }
}

impl PhasedJob for CachingJob<'_> {
    type Lent = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Connect if self.job.cell.work.test.takes_back() => {
                self.holder = Some(self.job.connect_another().await?);
            }
            Phase::Leave => {
                if let Some((session, _)) = self.holder.take() {
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
