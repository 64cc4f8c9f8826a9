//! A job of the test of notifications: one session changes a directory that another one watches.

use sharebench_model::{ErrorClass, FileRef, JobShare, MetaOp, MetaYield, OpError, StepError};
use sharebench_plan::MetadataWork;
use sharebench_target::{Session, SessionSpec};

use crate::cell::rounds::{Phase, PhasedJob, Span};
use crate::data::context::PassContext;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::job::{MIN_SLOT_BYTES, MetadataCell, MetadataJob};
use crate::metadata::lock_operations::close;
use crate::metadata::notify_operations::{change, creation, open_directory, removal, watch};
use crate::record::meter::Meter;
use crate::record::tally::Tally;

/// One of the jobs of a cell of notifications.
///
/// The directory of the job is open for the watcher during a round only, as the files of locks are. A notification is
/// requested before each change, and the change begins when the server has accepted the request, so that no operation
/// contains the way of the request. The removal is awaited too, though not measured: a server keeps for the next request what
/// changes between two requests.
pub(crate) struct NotifyJob<'a> {
    job: MetadataJob<'a>,
    /// The session that watches, with its deadline.
    watcher: Option<(Box<dyn Session>, PassContext<'a>)>,
    /// Number of the next name, so that a late notification is not taken for the next one.
    next: u32,
}

impl<'a> NotifyJob<'a> {
    pub fn new(cell: &'a MetadataCell<'a>, number: u32, state: BatchState) -> Self {
        Self { job: MetadataJob::new(cell, number, state), watcher: None, next: 0 }
    }

    async fn connect_watcher(&mut self) -> Result<(), OpError> {
        let cell = self.job.cell;
        let spec = SessionSpec {
            slots: 1,
            slot_bytes: MIN_SLOT_BYTES,
            connect_timeout: cell.timeout,
            allow_split: true,
        };
        let session = cell.target.connect(&spec).await?;
        self.watcher = Some((session, self.job.context.another()));
        Ok(())
    }

    /// The directory of the job.
    fn directory(&self) -> &'a str {
        let cell = self.job.cell;
        cell.set.of_job(cell.work, self.job.number).first().map_or("", |directory| directory.path.as_str())
    }

    /// Opens the directory, performs the passes and closes the directory, whatever happened: that cancels a request for a
    /// notification.
    async fn run(&mut self, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        let path = self.directory();
        let Some((session, context)) = &mut self.watcher else { return Err(OpError::no_session().into()) };
        let watched = open_directory(path, session.as_mut(), context).await?;
        let ran = self.measured(watched, passes, at).await;
        let Some((session, context)) = &mut self.watcher else { return Err(OpError::no_session().into()) };
        let closed = close(watched, session.as_mut(), context).await;
        let span = ran?;
        closed?;
        Ok(span)
    }

    async fn measured(&mut self, watched: FileRef, passes: u64, at: u64) -> Result<(u64, u64), StepError> {
        self.job.wait_for_start(at).await;
        let Some(session) = self.job.session.as_deref() else { return Err(OpError::no_session().into()) };
        let meter = Meter::start(self.job.context.clock, session);
        let watcher_wire = self.watcher.as_ref().map(|(watcher, _)| watcher.wire()).unwrap_or_default();
        let started = self.job.context.clock.now();
        let wanted = passes.saturating_mul(MetadataWork::LOCKS_PER_PASS.into());
        let result = self.repeat(watched, wanted).await;
        let ended = self.job.context.clock.now();
        if let Some(session) = self.job.session.as_deref() {
            meter.stop(self.job.context.clock, session, &mut self.job.tally);
        }
        if let Some((watcher, _)) = &self.watcher {
            self.job.tally.wire += watcher.wire().since(watcher_wire);
        }
        result?;
        self.job.tally.passes += passes;
        self.job.worked_ns += ended - started;
        Ok((started, ended))
    }

    async fn repeat(&mut self, watched: FileRef, wanted: u64) -> Result<(), StepError> {
        let directory = self.directory();
        let length = self.job.cell.work.name_length;
        for _ in 0..wanted {
            if self.job.context.stop.is_stopped() {
                return Err(StepError::Stopped);
            }
            let name = entry_name(EntryKind::Passing, self.next, length);
            // The digits of the shortest name.
            self.next = (self.next + 1) % 10_000_000;
            let path = format!("{directory}/{name}");
            let done = self.create_and_remove(&path, &name, watched).await;
            if done.is_err() {
                // A failed operation may leave a request and a name, so it is the last one of the round.
                self.remove(&path).await;
                self.job.tally.outcome(done)?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Creates a name, which is measured, and removes it again.
    async fn create_and_remove(&mut self, path: &str, name: &str, watched: FileRef) -> Result<(), OpError> {
        let Self { job: MetadataJob { session, context, tally, .. }, watcher, .. } = self;
        let Some(session) = session.as_deref_mut() else { return Err(OpError::no_session()) };
        let Some((watcher, watching)) = watcher else { return Err(OpError::no_session()) };
        watch(watched, watcher.as_mut(), watching).await?;
        let (op, expected) = creation(path, name);
        let started = context.clock.now();
        let changed = change(
            op,
            &expected,
            watched,
            (&mut *session, &mut *context),
            (watcher.as_mut(), &mut *watching),
        );
        let (created, noticed_at, noticed) = changed.await?;
        tally.operation(started, noticed_at);
        let (file, _) = MetaYield::into_opened(created)?;
        close(file, session, context).await?;
        noticed?;
        watch(watched, watcher.as_mut(), watching).await?;
        let (op, expected) = removal(path, name);
        let (_, _, noticed) =
            change(op, &expected, watched, (session, context), (watcher.as_mut(), watching)).await?;
        noticed
    }

    /// Removes what a failed operation may have left.
    async fn remove(&mut self, path: &str) {
        let MetadataJob { session, context, tally, .. } = &mut self.job;
        let Some(session) = session.as_deref_mut() else { return };
        match context.deadline.call(session, MetaOp::Remove { path: path.to_owned() }).await {
            // The failure that ended the connection is counted already.
            Err(error) if error.class != ErrorClass::NotFound && !error.class.ends_connection() => {
                tally.failure(error);
            }
            _ => {}
        }
    }
}

impl PhasedJob for NotifyJob<'_> {
    type Lent = BatchState;

    async fn perform(&mut self, phase: Phase) -> Span {
        match phase {
            Phase::Run { passes, at } => return self.run(passes, at).await.map(Some),
            Phase::Connect => self.connect_watcher().await?,
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
