//! Who watches directories of the memory target, and the changes that nobody has fetched yet.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use sharebench_model::{ChangeKind, MetaOp, NameChange, OpError, OpenHow};

use crate::memory_sharing::Opener;

/// One open directory. It collects changes from its first watch on, also while no report is requested.
#[derive(Debug, Default)]
struct Watch {
    directory: String,
    begun: bool,
    requested: bool,
    changes: Vec<NameChange>,
    waker: Option<Waker>,
}

/// The open directories of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Watches(BTreeMap<Opener, Watch>);

/// The names that an operation changes when it succeeds.
pub(crate) fn changed_names(op: &MetaOp) -> Vec<(String, ChangeKind)> {
    match op {
        MetaOp::Open { path, how: OpenHow::CreateNew, .. } | MetaOp::MakeDir { path } => {
            vec![(path.clone(), ChangeKind::Added)]
        }
        MetaOp::Link { to, .. } => vec![(to.clone(), ChangeKind::Added)],
        MetaOp::Remove { path } | MetaOp::RemoveDir { path } => vec![(path.clone(), ChangeKind::Removed)],
        MetaOp::Rename { from, to } => {
            vec![(from.clone(), ChangeKind::Removed), (to.clone(), ChangeKind::Added)]
        }
        _ => Vec::new(),
    }
}

impl Watches {
    /// A session has opened a directory.
    pub(crate) fn open(&mut self, opener: Opener, directory: String) {
        self.0.insert(opener, Watch { directory, ..Watch::default() });
    }

    /// A session has closed a directory; false if it was none.
    pub(crate) fn close(&mut self, opener: Opener) -> bool {
        self.0.remove(&opener).is_some()
    }

    /// Requests a report of the next changes.
    pub(crate) fn request(&mut self, opener: Opener) -> Result<(), OpError> {
        let watch = self.0.get_mut(&opener).ok_or_else(OpError::not_open)?;
        if watch.requested {
            return Err(OpError::not_watched("the session watches a directory already"));
        }
        (watch.begun, watch.requested) = (true, true);
        Ok(())
    }

    /// Waits for the report.
    pub(crate) fn poll_changes(
        &mut self,
        opener: Opener,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Vec<NameChange>, OpError>> {
        let Some(watch) = self.0.get_mut(&opener).filter(|watch| watch.requested) else {
            return Poll::Ready(Err(OpError::not_watched("the directory is not watched")));
        };
        if watch.changes.is_empty() {
            watch.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        watch.requested = false;
        Poll::Ready(Ok(std::mem::take(&mut watch.changes)))
    }

    /// Reports changes to those who watch their directories.
    pub(crate) fn note(&mut self, changes: Vec<(String, ChangeKind)>) {
        for (path, kind) in changes {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
            for watch in self.0.values_mut().filter(|watch| watch.begun && watch.directory == directory) {
                watch.changes.push(NameChange { name: name.to_owned(), kind });
                if let Some(waker) = watch.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}
