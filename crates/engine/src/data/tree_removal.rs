//! Removal of a directory of ours with everything in it, in bounded memory.

use sharebench_model::{Entry, ErrorClass, MetaOp, OpError, OpStep};
use sharebench_target::{Session, is_marker, marker_of};

use crate::data::context::PassContext;
use crate::data::listed_pages::{ListedPages, MAX_PATH_BYTES, child_path};

/// Maximum number of entries of a batch.
const BATCH_ENTRIES: usize = 16 << 10;
/// Maximum bytes of the names of all directories that wait to be removed.
const MAX_PENDING_BYTES: usize = 16 << 20;

/// Bytes of a path below which a directory is emptied in its place: an entry of it stays below [`MAX_PATH_BYTES`], as
/// three bytes for each of 255 characters do.
const MAX_DEEP_BYTES: usize = MAX_PATH_BYTES - 1024;
/// Names of a path up to which a directory is emptied in its place. NCP counts them in one byte.
const MAX_DEEP_NAMES: usize = 200;
/// Maximum number of directories that are moved up because their path is too long: such a tree may have no end.
const MAX_MOVES: usize = 64;

/// A directory on the way from the top to the one that is being emptied.
///
/// It is emptied in batches: a part of its entries is listed and then removed, before the next part is listed from the
/// start. Entries are never removed while a listing is in progress, because servers may then skip others.
struct OpenDirectory {
    path: String,
    /// Directories of the batch that are still to be removed.
    directories: Vec<String>,
    /// The batch has all entries that were left.
    is_last: bool,
    /// Number of entries that may still be removed; none before the first listing.
    allowance: Option<usize>,
    /// Path of the marker in the top directory, once it was listed.
    marker: Option<String>,
}

impl OpenDirectory {
    fn new(path: String) -> Self {
        Self { path, directories: Vec::new(), is_last: false, allowance: None, marker: None }
    }

    /// Lists the next batch, removes its files, and keeps its directories. `removed` counts the entries that are gone.
    async fn remove_batch(
        &mut self,
        session: &mut dyn Session,
        top: &str,
        removed: &mut u64,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        let batch = self.list_batch(session, top, context).await?;
        let allowance = self.allowance.unwrap_or_default();
        // A server that lists ever new entries would keep the removal going for ever.
        let left = allowance.checked_sub(batch.len()).ok_or_else(|| {
            let detail = format!("the directory '{}' gains entries while it is removed", self.path);
            OpError::new(ErrorClass::NotEmpty, OpStep::Path, detail)
        })?;
        self.allowance = Some(left);
        for entry in batch {
            if entry.directory {
                self.directories.push(entry.name);
            } else {
                let path = child_path(&self.path, &entry.name)?;
                context.deadline.call(session, MetaOp::Remove { path }).await?;
                *removed += 1;
                context.report_removed(*removed);
            }
        }
        Ok(())
    }

    async fn list_batch(
        &mut self,
        session: &mut dyn Session,
        top: &str,
        context: &mut PassContext<'_>,
    ) -> Result<Vec<Entry>, OpError> {
        let mut pages = ListedPages::from_path(&self.path);
        let mut batch = Vec::new();
        let mut skipped = 0;
        while let Some(page) = pages.next(session, context).await? {
            if page.unnamed > 0 {
                let detail = format!("the directory '{}' has a name that is not UTF-8", self.path);
                return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
            }
            for entry in page.entries {
                let path = child_path(&self.path, &entry.name)?;
                let is_first = self.marker.as_ref().is_none_or(|marker| *marker == path);
                if self.path == top && !entry.directory && is_marker(&entry.name) && is_first {
                    self.marker = Some(path);
                } else if batch.len() < BATCH_ENTRIES {
                    batch.push(entry);
                } else {
                    skipped += 1;
                }
            }
            // The first listing continues to the end, although it holds no more entries: a directory without an end is
            // found before anything of it is removed.
            if skipped > 0 && self.allowance.is_some() {
                break;
            }
        }
        self.is_last = skipped == 0;
        self.allowance.get_or_insert(batch.len() + skipped + BATCH_ENTRIES);
        Ok(batch)
    }
}

/// Removes a directory of ours with all that is in it; one that does not exist is removed already. The marker is the
/// last file to go, so that `sharebench clean` can continue a removal that was interrupted.
pub(crate) async fn remove_tree(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let mut open = vec![OpenDirectory::new(directory.to_owned())];
    let mut pending_bytes = 0;
    let mut removed = 0;
    let mut moves = 0;
    while let Some(current) = open.last_mut() {
        if let Some(name) = current.directories.pop() {
            pending_bytes -= name.len();
            let mut path = child_path(&current.path, &name)?;
            if path.len() > MAX_DEEP_BYTES || path.split('/').count() > MAX_DEEP_NAMES {
                path = move_up(session, path, directory, &mut moves, context).await?;
            }
            open.push(OpenDirectory::new(path));
            continue;
        }
        if !current.is_last {
            match current.remove_batch(session, directory, &mut removed, context).await {
                Ok(()) => pending_bytes += current.directories.iter().map(String::len).sum::<usize>(),
                // Another process has removed it.
                Err(error) if error.class == ErrorClass::NotFound => drop(open.pop()),
                Err(error) => return Err(error),
            }
            if pending_bytes > MAX_PENDING_BYTES {
                let mib = MAX_PENDING_BYTES >> 20;
                let detail = format!("the directories below '{directory}' exceed {mib} MiB of names");
                return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
            }
            continue;
        }
        let marker = current.marker.take();
        let path = std::mem::take(&mut current.path);
        open.pop();
        let is_unlisted = marker.is_none() && path == directory;
        if let Some(path) = marker {
            context.deadline.call(session, MetaOp::Remove { path }).await?;
        }
        let gone = context.deadline.call(session, MetaOp::RemoveDir { path: path.clone() }).await;
        if is_unlisted && gone.as_ref().is_err_and(|error| error.class == ErrorClass::NotEmpty) {
            // The target leaves names with a dot out of its lists.
            let marker = child_path(&path, marker_of(directory))?;
            context.deadline.call(session, MetaOp::Remove { path: marker }).await?;
            context.deadline.call(session, MetaOp::RemoveDir { path }).await?;
        } else {
            gone?;
        }
        removed += 1;
        context.report_removed(removed);
    }
    Ok(())
}

/// Moves a directory to the top, so that what it contains has short paths; returns its new path. No protocol and no system
/// takes a path of any length, but all of them rename.
async fn move_up(
    session: &mut dyn Session,
    from: String,
    top: &str,
    moves: &mut usize,
    context: &mut PassContext<'_>,
) -> Result<String, OpError> {
    *moves += 1;
    if *moves > MAX_MOVES {
        let detail = format!(
            "the directory '{top}' has paths of more than {} names; such a tree may have no end",
            MAX_MOVES * MAX_DEEP_NAMES
        );
        return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
    }
    // An earlier removal may have left one of the same number.
    let to = child_path(top, &format!("deep-{:x}-{moves}", context.clock.now()))?;
    context.deadline.call(session, MetaOp::Rename { from, to: to.clone() }).await?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sharebench_doubles::MemoryTarget;
    use sharebench_model::OpenHow;
    use sharebench_plan::Verify;
    use sharebench_target::{Altered, MARKER, SessionSpec, Target};

    use super::*;
    use crate::data::peculiar_target::Habit;
    use crate::time::clock::Clock;
    use crate::time::deadline::Deadline;
    use crate::time::stop::StopSignal;

    async fn put(session: &mut dyn Session, path: String) {
        session.call(MetaOp::open(path, OpenHow::CreateNew)).await.result.unwrap();
    }

    #[test]
    fn a_directory_of_several_batches_is_removed_with_everything_below_it() {
        let clock = Clock::start();
        let stop = StopSignal::default();
        let removed = clock.block_on(async {
            let target = MemoryTarget::new();
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            let session = session.as_mut();
            for path in ["top", "top/deep", "top/deep/deeper", "top/empty"] {
                session.call(MetaOp::MakeDir { path: path.into() }).await.result.unwrap();
            }
            put(session, child_path("top", MARKER).unwrap()).await;
            put(session, "other".into()).await;
            for index in 0..BATCH_ENTRIES + 50 {
                put(session, format!("top/deep/deeper/file-{index}")).await;
            }
            let deadline = Deadline::new(&clock, Duration::from_secs(60));
            let mut context = PassContext::new(&clock, &stop, Verify::Off, deadline);
            remove_tree(session, "top", &mut context).await.unwrap();
            remove_tree(session, "top", &mut context).await.unwrap();
            target.names()
        });
        assert_eq!(removed.unwrap(), ["other"]);
    }

    #[test]
    fn directories_with_paths_of_any_length_are_removed() {
        // Levels, bytes of each name.
        for (levels, bytes) in [(199, 5), (201, 5), (5000, 1), (60, 255)] {
            let clock = Clock::start();
            let stop = StopSignal::default();
            let target = MemoryTarget::new();
            let removed = clock.block_on(async {
                let mut session = target.connect(&SessionSpec::default()).await.unwrap();
                let session = session.as_mut();
                let mut path = "top".to_owned();
                session.call(MetaOp::MakeDir { path: path.clone() }).await.result.unwrap();
                for _ in 0..levels {
                    path = format!("{path}/{}", "d".repeat(bytes));
                    session.call(MetaOp::MakeDir { path: path.clone() }).await.result.unwrap();
                }
                put(session, format!("{path}/file")).await;
                let deadline = Deadline::new(&clock, Duration::from_secs(60));
                let mut context = PassContext::new(&clock, &stop, Verify::Off, deadline);
                remove_tree(session, "top", &mut context).await
            });
            assert_eq!(removed.unwrap(), Ok(()), "{levels} {bytes}");
            assert_eq!(target.names(), Vec::<String>::new(), "{levels} {bytes}");
        }
    }

    #[test]
    fn a_tree_without_an_end_is_given_up() {
        let clock = Clock::start();
        let stop = StopSignal::default();
        let target = Altered::new(MemoryTarget::new(), Habit::Endless);
        let removed = clock.block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            let deadline = Deadline::new(&clock, Duration::from_secs(60));
            let mut context = PassContext::new(&clock, &stop, Verify::Off, deadline);
            remove_tree(session.as_mut(), "top", &mut context).await
        });
        let error = removed.unwrap().unwrap_err().to_string();
        assert!(error.contains("12800 names; such a tree may have no end"), "{error}");
    }

    #[test]
    fn the_path_of_an_entry_is_limited() {
        assert_eq!(child_path("", "a").unwrap(), "a");
        assert_eq!(child_path("a", "b").unwrap(), "a/b");
        let error = child_path(&"d/".repeat(2048), "e").unwrap_err().to_string();
        assert!(error.contains("4096") && error.len() < 300, "{error}");
    }
}
