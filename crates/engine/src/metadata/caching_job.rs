//! A job of a test of leases or delegations: opens that request the right to cache a file, and opens that take it back.

use sharebench_model::{ErrorClass, JobShare, StepError};
use sharebench_plan::MetadataWork;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::metadata::caching_operations::{RequiredRight, open_and_close, recall_of_new_file, take_back};
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::own_file;
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::job::{JobParts, MetadataJob};
use crate::record::tally::Tally;

/// One of the jobs of a cell of leases or delegations, on a file of its own.
///
/// Where rights are only granted, the session of the job opens and closes the file. Where they are taken back, a second session
/// holds the right, and the session of the job opens the file against it. Files are open within an operation only, so that a
/// job that is stopped between two of them leaves nothing.
pub(crate) struct CachingJob<'a> {
    job: MetadataJob<'a>,
    right: RequiredRight,
    /// Number of the next file that exists for one recall only.
    next: u32,
}

impl<'a> CachingJob<'a> {
    pub fn new(job: MetadataJob<'a>, right: RequiredRight) -> Self {
        Self { job, right, next: 0 }
    }

    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        self.job.wait_for_start(at).await;
        let round = self.job.begin_round()?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = self.repeat(wanted).await;
        self.job.end_round(round, passes, result)
    }

    async fn repeat(&mut self, wanted: u64) -> Result<(), StepError> {
        let Self { job, right, next } = self;
        let work = job.cell.work;
        let path = own_file(work, job.cell.set, job.number);
        let directory = job.directory();
        let JobParts { first: mut at, second: mut holder, tally } = job.parts()?;
        for _ in 0..wanted {
            at.context.check_stop()?;
            let Some(holder) = &mut holder else {
                open_and_close(*right, &path, &mut at, tally).await?;
                continue;
            };
            let taken = if *right == RequiredRight::Delegation {
                let name = entry_name(EntryKind::Passing, *next, work.name_length);
                // The digits of the shortest name.
                *next = (*next + 1) % 10_000_000;
                recall_of_new_file(format!("{directory}/{name}"), holder, &mut at, tally).await
            } else {
                take_back(*right, &path, holder, &mut at, tally).await
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
    type State = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => self.run(passes, at).await.map(Some),
            _ => self.job.perform(phase).await,
        }
    }

    fn end(self) -> (Tally, JobShare, BatchState) {
        self.job.end()
    }
}
