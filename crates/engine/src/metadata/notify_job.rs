//! A job of the test of notifications: one session changes a directory that another one watches.

use sharebench_model::{FileRef, JobShare, OpError, StepError};
use sharebench_plan::MetadataWork;
use sharebench_target::Session;

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entry_names::EntryKind;
use crate::metadata::job::{MetadataCell, MetadataJob};
use crate::metadata::lock_operations::close;
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
    /// The session that watches, with its deadline.
    watcher: Option<(Box<dyn Session>, PassContext<'a>)>,
    /// The open directory, and whether the server reports its changes. None between the rounds.
    watched: Option<(FileRef, Result<(), OpError>)>,
    /// Number of the next name.
    next: u32,
}

impl<'a> NotifyJob<'a> {
    pub fn new(cell: &'a MetadataCell<'a>, number: u32, state: BatchState) -> Self {
        Self { job: MetadataJob::new(cell, number, state), watcher: None, watched: None, next: 0 }
    }

    /// The directory of the job.
    fn directory(&self) -> &'a str {
        let cell = self.job.cell;
        cell.set.of_job(cell.work, self.job.number).first().map_or("", |directory| directory.path.as_str())
    }

    /// The open directory with both sessions, and the tally of the job.
    fn parts(&mut self, file: FileRef) -> Result<(WatchedDirectory<'_, 'a>, &mut Tally), OpError> {
        let path = self.directory();
        let Self { job: MetadataJob { cell, session, context, tally, .. }, watcher, next, .. } = self;
        let session = session.as_deref_mut().ok_or_else(OpError::no_session)?;
        let (watcher, watching) = watcher.as_mut().ok_or_else(OpError::no_session)?;
        let directory = WatchedDirectory {
            path,
            file,
            name_length: cell.work.name_length,
            next,
            changer: (session, context),
            watcher: (watcher.as_mut(), watching),
        };
        Ok((directory, tally))
    }

    /// Opens the directory and has it watched.
    async fn open(&mut self) -> Result<(), OpError> {
        let path = self.directory();
        let (session, context) = self.watcher.as_mut().ok_or_else(OpError::no_session)?;
        let file = open_directory(path, session.as_mut(), context).await?;
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
        let Some((session, context)) = &mut self.watcher else { return Err(OpError::no_session().into()) };
        let closed = close(file, session.as_mut(), context).await;
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
        let round = self.job.begin_round(self.watcher.as_ref().map(|(watcher, _)| watcher.as_ref()))?;
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = match primed {
            Ok(()) => self.repeat(file, wanted).await,
            Err(error) => self.job.tally.outcome(Err(error)).map_err(StepError::from),
        };
        let watcher = self.watcher.as_ref().map(|(watcher, _)| watcher.as_ref());
        self.job.end_round(round, watcher, (passes, result))
    }

    async fn repeat(&mut self, file: FileRef, wanted: u64) -> Result<(), StepError> {
        let stop = self.job.context.stop;
        let (mut directory, tally) = self.parts(file)?;
        for _ in 0..wanted {
            if stop.is_stopped() {
                return Err(StepError::Stopped);
            }
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
    type Lent = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Connect => self.watcher = Some(self.job.connect_another().await?),
            Phase::Prepare { .. } => {
                self.job.perform(phase).await?;
                self.open().await?;
                return Ok(None);
            }
            Phase::Leave => {
                if let Some((session, _)) = self.watcher.take() {
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
