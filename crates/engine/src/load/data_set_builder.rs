//! Layout of a shared data set by several concurrent sessions, with progress events.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use sharebench_model::{DataOp, MetaOp, OpError, OpenHow, StepError};
use sharebench_plan::{DataFile, Workload};
use sharebench_target::{Session, SessionSpec, Target};

use crate::data::context::PassContext;
use crate::data::set_content::{set_content, shared};
use crate::data::stamp::Content;
use crate::load::kept_data_set::Heartbeat;
use crate::record::request::{transfer, write_next};

/// Maximum number of sessions that write a set in parallel.
const MAX_BUILDERS: usize = 8;
/// Minimum number of files per session; smaller sets use fewer sessions.
const FILES_EACH: usize = 4;
/// Minimum time between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Interval at which a session without further files waits for the others.
const WAIT: Duration = Duration::from_millis(100);

/// The target on which a set is laid out, and the receiver of its progress.
pub(crate) struct BuildSite<'a> {
    pub target: &'a dyn Target,
    pub spec: SessionSpec,
    /// Hears how many files of how many are there.
    pub on_progress: &'a dyn Fn(u64, u64),
}

/// A set that is being laid out: the files that are left, and the first failure, shared by all sessions.
struct SetBuild<'a> {
    site: &'a BuildSite<'a>,
    files: Vec<(usize, &'a DataFile)>,
    directory: &'a str,
    next: Cell<usize>,
    done: Cell<u64>,
    /// Builders at work.
    busy: Cell<usize>,
    reported: Cell<u64>,
    /// The first failure: the others end when they see it.
    failed: RefCell<Option<StepError>>,
}

/// Lays the set out in a directory that is there already, empty; with `growing` the first session extends the growing
/// file at regular intervals.
pub(crate) async fn build(
    site: &BuildSite<'_>,
    first: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    growing: Option<&mut Heartbeat>,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    make_directories(first, workload, directory, context).await?;
    build_files(site, first, shared(workload).collect(), directory, growing, context).await
}

/// Makes the directories of a set's files.
pub(crate) async fn make_directories(
    first: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let wanted: BTreeSet<usize> = shared(workload).map(|(index, _)| index).collect();
    for below in workload.set.directories(|index| wanted.contains(&index)) {
        context.deadline.call(first, MetaOp::MakeDir { path: format!("{directory}/{below}") }).await?;
    }
    Ok(())
}

/// Writes some of a set's files, whose directories exist.
pub(crate) async fn build_files(
    site: &BuildSite<'_>,
    first: &mut dyn Session,
    files: Vec<(usize, &DataFile)>,
    directory: &str,
    growing: Option<&mut Heartbeat>,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    // Sessions that block their thread would take turns.
    let builders = if site.target.capabilities().blocking { 1 } else { files.len() / FILES_EACH };
    let builders = builders.clamp(1, MAX_BUILDERS);
    let building = SetBuild {
        site,
        files,
        directory,
        next: Cell::new(0),
        done: Cell::new(0),
        busy: Cell::new(builders),
        reported: Cell::new(context.clock.now()),
        failed: RefCell::new(None),
    };
    let others = (1..builders).map(|_| building.join(context.another()));
    let others = join_all(others.collect::<Vec<_>>());
    tokio::join!(building.work(first, growing, context.another()), others);
    building.failed.into_inner().map_or(Ok(()), Err)
}

impl SetBuild<'_> {
    /// One more builder with a session of its own; a server that has no room for it is no reason to fail.
    async fn join(&self, context: PassContext<'_>) {
        match self.site.target.connect(&self.site.spec).await {
            Ok(mut session) => {
                self.work(session.as_mut(), None, context).await;
                session.close().await;
            }
            // Fewer sessions only take longer; the first session writes what the others do not.
            Err(_) => self.busy.set(self.busy.get() - 1),
        }
    }

    /// Writes files until none are left or another session has failed.
    async fn work(
        &self,
        session: &mut dyn Session,
        mut growing: Option<&mut Heartbeat>,
        mut context: PassContext<'_>,
    ) {
        let mut result = Ok(());
        while result.is_ok() && self.failed.borrow().is_none() {
            if context.stop.is_stopped() {
                result = Err(StepError::Stopped);
                break;
            }
            // All sessions run on one thread, so that a `Cell` suffices to give each file to one of them.
            let Some(&(index, file)) = self.files.get(self.next.replace(self.next.get() + 1)) else { break };
            let path = format!("{}/{}", self.directory, file.path);
            let content = set_content(index, file);
            result = write_file(session, &path, file.bytes, content, growing.as_deref_mut(), &mut context)
                .await
                .map_err(StepError::from);
            if result.is_ok() {
                self.progress(context.clock.now());
            }
        }
        self.busy.set(self.busy.get() - 1);
        if let Some(growing) = growing {
            while result.is_ok() && self.busy.get() > 0 {
                context.clock.sleep_coarse(context.clock.now() + WAIT.as_nanos() as u64).await;
                result = growing.beat(session, &mut context).await.map_err(StepError::from);
            }
        }
        if let Err(error) = result {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    fn progress(&self, now: u64) {
        self.done.set(self.done.get() + 1);
        if now - self.reported.get() >= PROGRESS_INTERVAL.as_nanos() as u64 {
            self.reported.set(now);
            (self.site.on_progress)(self.done.get(), self.files.len() as u64);
        }
    }
}

/// Makes a new file and writes it to stable storage, as much at once as a request carries.
async fn write_file(
    session: &mut dyn Session,
    path: &str,
    bytes: u64,
    content: Content,
    mut growing: Option<&mut Heartbeat>,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let open = MetaOp::open(path, OpenHow::CreateNew);
    let (handle, _) = context.deadline.call(session, open).await?.into_opened()?;
    let mut offset = 0;
    while offset < bytes {
        let written = write_next(session, &mut context.deadline, handle, offset..bytes, content).await?;
        offset += u64::from(written);
        if let Some(growing) = &mut growing {
            growing.beat(session, context).await?;
        }
    }
    transfer(session, &mut context.deadline, DataOp::Flush { file: handle }).await?;
    context.deadline.call(session, MetaOp::Close { file: handle }).await.map(drop)
}
