//! A job of the test of notifications: one session changes a directory that another one watches.

use sharebench_model::{FileRef, JobShare, OpError, StepError};
use sharebench_plan::MetadataWork;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::metadata::directory_set::BatchState;
use crate::metadata::entry_names::EntryKind;
use crate::metadata::job::{JobParts, MetadataJob};
use crate::metadata::notify_operations::open_directory;
use crate::metadata::watched_directory::WatchedDirectory;
use crate::record::tally::Tally;

/// One of the jobs of a cell of notifications.
///
/// The directory of the job is open for the watcher during a round only, as the files of locks are. All jobs have opened and
/// primed their directories before any of them begins to measure. A notification is requested before each change, and the
/// change begins when the server has accepted the request, so that no operation contains the way of the request. The removal is
/// awaited too, though not measured: a server keeps for the next request what changes between two requests.
pub(crate) struct NotifyJob<'a> {
    job: MetadataJob<'a>,
    /// The open directory, and whether the server reports its changes. None between the rounds.
    watched: Option<(FileRef, Result<(), OpError>)>,
    /// Number of the next name.
    next: u32,
}

impl<'a> NotifyJob<'a> {
    pub fn new(job: MetadataJob<'a>) -> Self {
        Self { job, watched: None, next: 0 }
    }

    /// The open directory with both sessions, and the tally of the job.
    fn parts(&mut self, file: FileRef) -> Result<(WatchedDirectory<'_, 'a>, &mut Tally), OpError> {
        let path = self.job.directory();
        let name_length = self.job.cell.work.name_length;
        let JobParts { first: changer, second, tally } = self.job.parts()?;
        let watcher = second.ok_or_else(OpError::no_session)?;
        let next = &mut self.next;
        Ok((WatchedDirectory { path, file, name_length, next, changer, watcher }, tally))
    }

    /// Opens the directory and has it watched.
    async fn open(&mut self) -> Result<(), OpError> {
        let path = self.job.directory();
        let file = open_directory(path, &mut self.job.second()?).await?;
        let (mut directory, tally) = self.parts(file)?;
        let mut unmeasured = Tally::default();
        let primed = directory.prime(&mut unmeasured).await;
        tally.add_failures_of(unmeasured);
        self.watched = Some((file, primed));
        Ok(())
    }

    /// Performs the passes and closes the directory, whatever happened: that cancels a request for a notification.
    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        let Some((file, primed)) = self.watched.take() else { return Err(OpError::no_session().into()) };
        let ran = self.measured(file, primed, passes, at).await;
        let closed = self.job.second()?.close(file).await;
        let span = ran?;
        closed?;
        Ok(span)
    }

    async fn measured(
        &mut self,
        file: FileRef,
        primed: Result<(), OpError>,
        passes: u64,
        at: u64,
    ) -> Result<(u64, u64), StepError> {
        self.job.wait_for_start(at).await;
        let round = self.job.begin_round()?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = match primed {
            Ok(()) => self.repeat(file, wanted).await,
            Err(error) => self.job.tally.outcome(Err(error)).map_err(StepError::from),
        };
        self.job.end_round(round, passes, result)
    }

    async fn repeat(&mut self, file: FileRef, wanted: u64) -> Result<(), StepError> {
        let (mut directory, tally) = self.parts(file)?;
        for _ in 0..wanted {
            directory.changer.context.check_stop()?;
            let done = directory.create_and_remove(EntryKind::Passing, tally).await;
            if done.is_err() {
                // A failed operation may leave a request, so it is the last one of the round.
                tally.outcome(done)?;
                return Ok(());
            }
        }
        Ok(())
    }
}

impl PhasedJob for NotifyJob<'_> {
    type State = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => self.run(passes, at).await.map(Some),
            Phase::Prepare { .. } => {
                self.job.perform(phase).await?;
                self.open().await?;
                Ok(None)
            }
            _ => self.job.perform(phase).await,
        }
    }

    fn end(self) -> (Tally, JobShare, BatchState) {
        self.job.end()
    }
}
