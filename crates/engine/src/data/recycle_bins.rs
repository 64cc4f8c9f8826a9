//! Recycle bins of servers, which keep what clients delete, and directories with snapshots.
//!
//! A bin is a directory at the top of the share. The server moves each deleted file into it, usually with the path of the
//! file in front, and often with the name of the user before that. sharebench finds its own files there by the name of its
//! directory, which no other file has.

use sharebench_model::{MetaOp, MetaYield, OpError, OpenHow, Stat};
use sharebench_target::{Session, is_working_directory};

use crate::data::context::PassContext;
use crate::data::listed_pages::{ListedPages, child_path};
use crate::data::tree_removal::remove_tree;
use crate::time::deadline::Deadline;

/// Names of recycle bins: Samba's `vfs_recycle` and `TrueNAS`, Synology, QNAP, others as administrators name them, Windows.
const BINS: [&str; 7] =
    [".recycle", "#recycle", "@Recycle", ".recyclebin", ".trash", "RecycleBin", "$RECYCLE.BIN"];
/// Names of directories with snapshots: `NetApp` over NFS and over SMB, Snapper, Synology, QNAP, ZFS, `CephFS`.
const SNAPSHOTS: [&str; 7] =
    [".snapshot", "~snapshot", ".snapshots", "#snapshot", "@Recently-Snapshot", ".zfs/snapshot", ".snap"];
/// The part of the timeout that a reply may take before the run.
const TIMEOUT_PART: u32 = 8;
/// Maximum number of directories of a bin that may be those of users.
const MAX_USERS: usize = 256;
/// Number of entries of a bin after which no further directories are looked for.
const MAX_ENTRIES: usize = 10_000;

/// What the server does with a file that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// It moves the file to this directory of a recycle bin, in the directory of the run.
    IntoTree(String),
    /// It moves the file to this directory of a recycle bin, among the files of others.
    AmongOthers(String),
}

/// What keeps the files of a run on the target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keepers {
    /// Where deleted files go; none if they are deleted.
    pub deletion: Option<Deletion>,
    /// Recycle bins at the top of the target.
    pub bins: Vec<&'static str>,
    /// Directories with snapshots at the top of the target.
    pub snapshots: Vec<&'static str>,
    /// Number of snapshots that the server lists; none where the protocol has no such list.
    pub listed_snapshots: Option<u32>,
}

impl Keepers {
    /// What the user has to know before a run, in words.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match &self.deletion {
            Some(Deletion::IntoTree(place)) => warnings.push(format!(
                "deleted files stay in the recycle bin {place} and fill the share during the run; sharebench removes its own \
                 files from it in the end"
            )),
            Some(Deletion::AmongOthers(place)) => warnings.push(format!(
                "deleted files stay in the recycle bin {place} and fill the share; it keeps no directories, so that \
                 sharebench cannot find its own files in it: empty it after the run"
            )),
            None => {}
        }
        if let Some(snapshots) = self.snapshots_text() {
            warnings.push(format!(
                "the share has snapshots ({snapshots}): one that is made during the run keeps what the run has written"
            ));
        }
        warnings
    }

    /// The snapshots in words; none without any.
    pub fn snapshots_text(&self) -> Option<String> {
        let listed = self.listed_snapshots.filter(|count| *count > 0);
        let listed = listed.map(|count| format!("{count} listed by the server"));
        let found: Vec<String> = self.snapshots.iter().map(|name| (*name).to_owned()).chain(listed).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

/// Finds out what keeps files of a run. It deletes an empty file of its own in `directory`, and looks for it in the bins. Each
/// reply may take a part of the timeout, so that a silent server does not cost a whole one before the first step.
///
/// # Errors
/// The connection is lost.
pub(crate) async fn find(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<Keepers, OpError> {
    let shorter = Deadline::new(context.clock, context.deadline.limit() / TIMEOUT_PART);
    let whole = std::mem::replace(&mut context.deadline, shorter);
    let found = find_in_time(session, directory, context).await;
    context.deadline = whole;
    found
}

async fn find_in_time(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<Keepers, OpError> {
    // A bin that keeps no directories shows the file under its own name, which is that of the directory.
    let path = child_path(directory, directory)?;
    let open = MetaOp::open(path.clone(), OpenHow::CreateNew);
    let (file, _) = context.deadline.call(session, open).await.and_then(MetaYield::into_opened)?;
    context.deadline.call(session, MetaOp::Close { file }).await?;
    context.deadline.call(session, MetaOp::Remove { path }).await?;
    let mut found = Keepers::default();
    for name in SNAPSHOTS {
        if stat(session, name, context).await?.is_some_and(|stat| stat.directory) {
            found.snapshots.push(name);
        }
    }
    found.listed_snapshots = context.deadline.within(Box::pin(session.snapshots())).await?;
    let (bins, places) = places(session, context).await?;
    found.bins = bins;
    for place in places {
        match stat(session, &child_path(&place, directory)?, context).await? {
            Some(stat) if stat.directory => found.deletion = Some(Deletion::IntoTree(place)),
            Some(_) => {
                let path = child_path(&place, directory)?;
                context.deadline.call(session, MetaOp::Remove { path }).await?;
                found.deletion = Some(Deletion::AmongOthers(place));
            }
            None => continue,
        }
        break;
    }
    Ok(found)
}

/// Removes a directory of ours with everything in it, also from the recycle bins to which the server moves its files.
pub(crate) async fn remove_completely(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    remove_tree(session, directory, context).await?;
    for place in places(session, context).await?.1 {
        let path = child_path(&place, directory)?;
        if stat(session, &path, context).await?.is_some_and(|stat| stat.directory) {
            let removed = remove_tree(session, &path, context).await;
            removed.map_err(|mut error| {
                error.detail = format!("{} (in the recycle bin {place})", error.detail);
                error
            })?;
        }
    }
    Ok(())
}

/// The bins at the top of the target, and the directories in which the server may put a deleted path: the bins, and the
/// directories of users in them.
pub(crate) async fn places(
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(Vec<&'static str>, Vec<String>), OpError> {
    let mut bins = Vec::new();
    let mut places = Vec::new();
    for bin in BINS {
        if !stat(session, bin, context).await?.is_some_and(|stat| stat.directory) {
            continue;
        }
        bins.push(bin);
        places.push(bin.to_owned());
        let users = directories_of(session, bin, context).await;
        places.extend(users.into_iter().filter_map(|name| child_path(bin, &name).ok()));
    }
    Ok((bins, places))
}

/// The first directories of a bin that are not ours; none where it cannot be listed.
async fn directories_of(session: &mut dyn Session, bin: &str, context: &mut PassContext<'_>) -> Vec<String> {
    let mut pages = ListedPages::from_path(bin);
    let mut found = Vec::new();
    let mut seen = 0;
    while seen < MAX_ENTRIES
        && let Ok(Some(page)) = pages.next(session, context).await
    {
        seen += page.entries.len();
        let others =
            page.entries.into_iter().filter(|entry| entry.directory && !is_working_directory(&entry.name));
        found.extend(others.map(|entry| entry.name));
    }
    found.truncate(MAX_USERS);
    found
}

/// What a name is; none if it does not exist, or the target does not allow such a name.
async fn stat(
    session: &mut dyn Session,
    path: &str,
    context: &mut PassContext<'_>,
) -> Result<Option<Stat>, OpError> {
    match context.deadline.call(session, MetaOp::Stat { path: path.to_owned() }).await {
        Ok(MetaYield::Stat(stat)) => Ok(Some(stat)),
        Err(error) if error.class.ends_connection() => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sharebench_doubles::MemoryTarget;
    use sharebench_plan::Verify;
    use sharebench_target::{Altered, MARKER, SessionSpec, Target};

    use super::*;
    use crate::data::directory::make;
    use crate::data::peculiar_target::Habit;
    use crate::time::clock::Clock;
    use crate::time::stop::StopSignal;

    /// Files of others that are there before, what the server does, where deleted files go, what stays in addition.
    type Case = (&'static [&'static str], Habit, Option<Deletion>, &'static [&'static str]);

    const OURS: &str = ".sharebench-1f2e3d4c-0";

    /// Runs `work` with a session and a context.
    fn with_session<T>(
        target: &dyn Target,
        work: impl AsyncFnOnce(&mut dyn Session, &mut PassContext<'_>) -> T,
    ) -> T {
        let clock = Clock::start();
        let stop = StopSignal::default();
        let done = clock.block_on(async {
            let deadline = Deadline::new(&clock, Duration::from_secs(60));
            let mut context = PassContext::new(&clock, &stop, Verify::Off, deadline);
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            work(session.as_mut(), &mut context).await
        });
        done.unwrap()
    }

    async fn put(session: &mut dyn Session, path: &str) {
        for (at, _) in path.match_indices('/') {
            session.call(MetaOp::MakeDir { path: path[..at].to_owned() }).await.result.ok();
        }
        session.call(MetaOp::open(path, OpenHow::CreateNew)).await.result.unwrap();
    }

    #[test]
    fn a_bin_is_found_by_a_deleted_file_and_loses_only_our_own_files() {
        let into = |place: &str| Some(Deletion::IntoTree(place.to_owned()));
        let among = |place: &str| Some(Deletion::AmongOthers(place.to_owned()));
        let cases: [Case; 9] = [
            (&[], Habit::Accepts, None, &[]),
            (&[".recycle/old"], Habit::Accepts, None, &[]),
            (&["$RECYCLE.BIN/S-1-5/old"], Habit::Accepts, None, &[]),
            (&[], Habit::RecyclesTree(".recycle"), into(".recycle"), &[]),
            (&["#recycle/old", "#recycle/d/x"], Habit::RecyclesTree("#recycle"), into("#recycle"), &[]),
            (&["@Recycle/.sharebench-0-0/x"], Habit::RecyclesTree("@Recycle"), into("@Recycle"), &[]),
            (
                &[".recycle/alice/old", ".recycle/bob/old"],
                Habit::RecyclesTree(".recycle/bob"),
                into(".recycle/bob"),
                &[],
            ),
            (&[".recycle/x"], Habit::RecyclesFiles(".recycle"), among(".recycle"), &[MARKER, "data-64"]),
            (&["data-64"], Habit::RecyclesFiles(".trash"), among(".trash"), &[MARKER, "data-64"]),
        ];
        for (others, habit, expected, left) in cases {
            let memory = MemoryTarget::new();
            let target = Altered::new(memory.clone(), habit);
            let found = with_session(&target, async |session, context| {
                for path in others {
                    put(session, path).await;
                }
                make(session, OURS, context).await.unwrap();
                let found = find(session, OURS, context).await.unwrap();
                for name in ["data-64", "set/deep/x"] {
                    put(session, &format!("{OURS}/{name}")).await;
                }
                let removed = MetaOp::Remove { path: format!("{OURS}/data-64") };
                session.call(removed).await.result.unwrap();
                remove_completely(session, OURS, context).await.unwrap();
                found
            });
            assert_eq!(found.deletion, expected, "{others:?} {habit:?}");
            let names = memory.names();
            for path in others {
                assert!(names.iter().any(|name| name == path), "{path} is gone: {habit:?}");
            }
            assert!(!names.iter().any(|name| name.contains(OURS)), "{habit:?}: {names:?}");
            let flat = |name: &&String| left.iter().any(|left| name.ends_with(&format!("/{left}")));
            assert_eq!(names.iter().filter(flat).count(), left.len(), "{habit:?}: {names:?}");
        }
    }

    #[test]
    fn snapshots_are_reported_from_their_directory_and_from_the_list_of_the_server() {
        for (directory, habit, expected) in [
            (None, Habit::Accepts, None),
            (None, Habit::HasSnapshots(0), None),
            (None, Habit::HasSnapshots(3), Some("3 listed by the server")),
            (Some(".snapshot"), Habit::Accepts, Some(".snapshot")),
            (Some(".zfs/snapshot"), Habit::Accepts, Some(".zfs/snapshot")),
            (Some("~snapshot"), Habit::HasSnapshots(1), Some("~snapshot, 1 listed by the server")),
        ] {
            let target = Altered::new(MemoryTarget::new(), habit);
            let found = with_session(&target, async |session, context| {
                if let Some(directory) = directory {
                    put(session, &format!("{directory}/daily/x")).await;
                }
                make(session, OURS, context).await.unwrap();
                find(session, OURS, context).await.unwrap()
            });
            assert_eq!(found.snapshots_text().as_deref(), expected);
            assert_eq!(found.warnings().len(), usize::from(expected.is_some()));
        }
    }
}
