//! The walk of a survey over all directories of a share, with several sessions.

use std::cell::RefCell;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sharebench_model::{Entry, ErrorClass, ListedPage, MetaOp, MetaYield, OpError, OpStep};
use sharebench_target::{LocalBoxFuture, Session, SessionSpec, Target, is_working_directory};

use crate::data::context::PassContext;
use crate::data::listed_pages::{ListedPages, child_path};
use crate::run::survey::inventory::{Survey, SurveyedFile};
use crate::run::survey::pending::{MAX_PENDING_BYTES, PendingDirectories, PendingDirectory};
use crate::run::survey::sample::{Rank, Ranks, Sample};

/// Maximum number of sessions of a walk. They occupy a server with four processors; more would burden it without need.
const MAX_SESSIONS: usize = 4;
/// Directories that wait for each session before the walk opens another one, so that a small share costs one login.
const PENDING_PER_SESSION: usize = 8;

/// A session that lists directories, one at a time.
pub(super) struct Walker<'a> {
    pub session: Box<dyn Session>,
    pub context: PassContext<'a>,
}

/// What the sessions have found together.
struct Found {
    pending: PendingDirectories,
    sample: Sample,
    survey: Survey,
}

/// The result of a step of the walk: of listing a directory, or of opening a further session.
struct Finished<'a> {
    /// The session, which is free for another directory; none if it could not be opened.
    walker: Option<Walker<'a>>,
    connected: bool,
}

/// A step in progress.
type Unfinished<'s, 'a> = LocalBoxFuture<'s, Result<Finished<'a>, OpError>>;

/// A survey in progress.
///
/// The walk begins with one session. A session has one listing in progress, so that each page costs a round trip, and
/// the server uses one thread for it. While many directories wait, the walk opens further sessions, whose round trips
/// overlap. All of them run on the calling thread and share what they find. No result depends on the order of their
/// replies.
///
/// Errors: the walk needs its first session and the top directory. It continues without a directory that cannot be
/// listed, and without further sessions that cannot be opened, because many servers limit them. The loss of any session
/// in use ends it.
pub(super) struct Walk<'a> {
    target: &'a dyn Target,
    spec: &'a SessionSpec,
    context: &'a dyn Fn() -> PassContext<'a>,
    max_files: u64,
    max_sessions: usize,
    found: RefCell<Found>,
}

impl<'a> Walk<'a> {
    /// Prepares a walk whose further sessions use `spec`, each with a context of its own.
    pub fn new(
        target: &'a dyn Target,
        spec: &'a SessionSpec,
        context: &'a dyn Fn() -> PassContext<'a>,
        max_files: u64,
    ) -> Self {
        // Operations that block the thread cannot overlap on it.
        let max_sessions = if target.capabilities().blocking { 1 } else { MAX_SESSIONS };
        let pending = PendingDirectories::default();
        let found = Found { pending, sample: Sample::new(max_files), survey: Survey::default() };
        Self { target, spec, context, max_files, max_sessions, found: RefCell::new(found) }
    }

    /// Walks to the end of the share and closes the sessions.
    pub async fn run(self, mut first: Walker<'a>) -> Result<Survey, OpError> {
        // Without its top directory there is no share to look at.
        let top = PendingDirectory { path: String::new(), depth: 0 };
        self.list(&mut first, &top).await?;
        for walker in self.list_pending(first).await? {
            walker.session.close().await;
        }
        let Found { sample, mut survey, .. } = self.found.into_inner();
        survey.seen = sample.seen;
        survey.is_sample = survey.seen > self.max_files;
        sample.into_files().for_each(|file| survey.add(file));
        Ok(survey)
    }

    /// Lists the pending directories and everything below them. Returns the sessions.
    async fn list_pending(&self, first: Walker<'a>) -> Result<Vec<Walker<'a>>, OpError> {
        let mut free = vec![first];
        let mut sessions = 1;
        let mut max_sessions = self.max_sessions;
        let mut connecting = false;
        let mut steps = FuturesUnordered::new();
        loop {
            while let Some(walker) = free.pop() {
                let Some(directory) = self.found.borrow_mut().pending.pop() else {
                    free.push(walker);
                    break;
                };
                steps.push(self.list_next(walker, directory?));
            }
            // A session that is still being opened has nothing left to do.
            if free.len() == sessions {
                return Ok(free);
            }
            let waiting = self.found.borrow().pending.len();
            if !connecting && sessions < max_sessions && waiting > sessions * PENDING_PER_SESSION {
                connecting = true;
                steps.push(self.connect());
            }
            let Some(finished) = steps.next().await.transpose()? else { return Ok(free) };
            if finished.connected {
                connecting = false;
                match finished.walker {
                    Some(_) => sessions += 1,
                    None => max_sessions = sessions,
                }
            }
            free.extend(finished.walker);
        }
    }

    fn connect(&self) -> Unfinished<'_, 'a> {
        Box::pin(async {
            let walker = match self.target.connect(self.spec).await {
                Ok(session) => Some(Walker { session, context: (self.context)() }),
                Err(error) => {
                    tracing::debug!(%error, "the survey continues without a further session");
                    None
                }
            };
            Ok(Finished { walker, connected: true })
        })
    }

    fn list_next(&self, mut walker: Walker<'a>, directory: PendingDirectory) -> Unfinished<'_, 'a> {
        Box::pin(async move {
            match self.list(&mut walker, &directory).await {
                Ok(()) => {}
                // Each further directory would only wait for the same timeout, and the survey would look complete.
                Err(error) if error.class.ends_connection() => return Err(error),
                // Some directories are locked.
                Err(error) => self.found.borrow_mut().survey.refuse(directory.path, error),
            }
            Ok(Finished { walker: Some(walker), connected: false })
        })
    }

    async fn list(&self, walker: &mut Walker<'_>, directory: &PendingDirectory) -> Result<(), OpError> {
        let mut pages = ListedPages::from_path(&directory.path);
        let mut directories = String::new();
        while let Some(page) = pages.next(walker.session.as_mut(), &mut walker.context).await? {
            for (rank, entry) in self.take(page, directory, &mut directories) {
                self.add_without_size(walker, directory, rank, &entry.name).await?;
            }
            if directories.len() > MAX_PENDING_BYTES {
                break;
            }
        }
        let mut found = self.found.borrow_mut();
        found.survey.directories += 1;
        found.pending.push(directory, directories)
    }

    /// Takes the entries of a page. Returns those files of the sample whose sizes the listing does not have.
    fn take(
        &self,
        page: ListedPage,
        directory: &PendingDirectory,
        directories: &mut String,
    ) -> Vec<(Rank, Entry)> {
        let mut found = self.found.borrow_mut();
        let Found { sample, survey, .. } = &mut *found;
        let ranks = Ranks::from_directory(&directory.path);
        let mut without_size = Vec::new();
        survey.refused += page.unnamed;
        survey.entries += page.unnamed;
        for entry in page.entries {
            if is_working_directory(&entry.name) {
                continue;
            }
            survey.entries += 1;
            if entry.directory {
                directories.push_str(&entry.name);
                directories.push('\0');
                continue;
            }
            sample.seen += 1;
            let rank = ranks.rank(&entry.name);
            if !sample.includes(rank) {
                continue;
            }
            match entry.size {
                Some(size) => sample.add(rank, SurveyedFile::new(&entry.name, size, directory.depth)),
                None => without_size.push((rank, entry)),
            }
        }
        without_size
    }

    /// Requests the size of a file and adds it to the sample. Only files of the sample are worth a request.
    async fn add_without_size(
        &self,
        walker: &mut Walker<'_>,
        directory: &PendingDirectory,
        rank: Rank,
        name: &str,
    ) -> Result<(), OpError> {
        if !self.found.borrow().sample.includes(rank) {
            return Ok(());
        }
        let path = child_path(&directory.path, name)?;
        match walker.size(path.clone()).await {
            Ok(size) => {
                let file = SurveyedFile::new(name, size, directory.depth);
                self.found.borrow_mut().sample.add(rank, file);
            }
            Err(error) if error.class.ends_connection() => return Err(error),
            Err(error) => self.found.borrow_mut().survey.refuse(path, error),
        }
        Ok(())
    }
}

impl Walker<'_> {
    async fn size(&mut self, path: String) -> Result<u64, OpError> {
        match self.context.deadline.call(self.session.as_mut(), MetaOp::Stat { path }).await? {
            MetaYield::Stat(stat) => Ok(stat.size),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no attributes in the reply")),
        }
    }
}
