//! Whether a run could make its directory on a target: the part of `sharebench probe` that no protocol knows.

use std::time::Duration;

use sharebench_model::{MetaOp, OpError};
use sharebench_plan::Verify;
use sharebench_target::{ConnectError, Session, SessionSpec, Target, is_same_directory, marker_of};

use crate::data::context::PassContext;
use crate::data::directory::{MakeError, make_or_explain};
use crate::data::listed_pages::{ListedPages, child_path};
use crate::data::recycle_bins::{self, Deletion, Keepers};
use crate::data::tree_removal::remove_tree;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Maximum number of entries at the top of the target among which the directory is looked for.
const MAX_ENTRIES: usize = 100_000;

/// How a target treats names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DotNames {
    /// As any other name.
    Accepted,
    /// They can be used, but lists leave them out.
    Unlisted,
    /// They cannot be made, other names can.
    Rejected,
}

/// What the directory of a run showed that was made on a target and removed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryCheck {
    /// How the target treats names that begin with a dot; none where this is not known: the directory could not be made
    /// for another reason, or begins without a dot.
    pub dot_names: Option<DotNames>,
    /// Why the directory could not be made.
    pub refusal: Option<OpError>,
    /// What keeps files of a run on the target after they are deleted.
    pub keepers: Keepers,
    /// Why the directory could not be removed; it is still there.
    pub leftover: Option<OpError>,
}

/// Makes an empty directory as that of a run, looks for it in the list of the target, and removes it. `directory` is the
/// name of one that a run would make; each request may take `timeout`.
///
/// # Errors
/// There is no session. Nothing was made.
pub async fn check_directory(
    target: &dyn Target,
    directory: &str,
    clock: &Clock,
    timeout: Duration,
) -> Result<DirectoryCheck, ConnectError> {
    let stop = StopSignal::default();
    let mut context = PassContext::new(clock, &stop, Verify::Off, Deadline::new(clock, timeout));
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: true };
    let mut session = target.connect(&spec).await?;
    let check = check(session.as_mut(), directory, &mut context).await;
    session.close().await;
    Ok(check)
}

async fn check(session: &mut dyn Session, directory: &str, context: &mut PassContext<'_>) -> DirectoryCheck {
    if let Err(MakeError { error, rejects_dot }) = make_or_explain(session, directory, context).await {
        let dot_names = rejects_dot.then_some(DotNames::Rejected);
        return DirectoryCheck {
            dot_names,
            refusal: Some(error),
            keepers: Keepers::default(),
            leftover: None,
        };
    }
    let ends_ns = context.clock.now() + context.deadline.limit().as_nanos() as u64;
    let listed = is_listed(session, directory, ends_ns, context).await.unwrap_or_default();
    let dot_names = listed
        .filter(|_| directory.starts_with('.'))
        .map(|listed| if listed { DotNames::Accepted } else { DotNames::Unlisted });
    let found = if context.clock.now() < ends_ns {
        recycle_bins::find(session, directory, context).await
    } else {
        Ok(Keepers::default())
    };
    let (keepers, leftover) = match found {
        // A server that is silent is not waited for again.
        Err(error) if error.class.ends_connection() => (Keepers::default(), Some(error)),
        found => {
            let found = found.unwrap_or_default();
            let leftover = remove_empty(session, directory, &found, context).await.err();
            (found, leftover)
        }
    };
    DirectoryCheck { dot_names, refusal: None, keepers, leftover }
}

/// Removes a directory in which nothing but the marker was left, without a look at what a server lists in it.
async fn remove_empty(
    session: &mut dyn Session,
    directory: &str,
    found: &Keepers,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let marker = child_path(directory, marker_of(directory))?;
    context.deadline.call(session, MetaOp::Remove { path: marker }).await?;
    context.deadline.call(session, MetaOp::RemoveDir { path: directory.to_owned() }).await?;
    match &found.deletion {
        Some(Deletion::IntoTree(place)) => {
            remove_tree(session, &child_path(place, directory)?, context).await
        }
        Some(Deletion::AmongOthers(_)) | None => Ok(()),
    }
}

/// Whether the list of the target contains the directory; none where the list is too long or takes too long.
async fn is_listed(
    session: &mut dyn Session,
    directory: &str,
    ends_ns: u64,
    context: &mut PassContext<'_>,
) -> Result<Option<bool>, OpError> {
    let mut pages = ListedPages::from_path("");
    let mut seen = 0;
    while let Some(page) = pages.next(session, context).await? {
        let found = page.entries.iter().any(|entry| is_same_directory(&entry.name, directory));
        seen += page.entries.len();
        if found {
            return Ok(Some(true));
        }
        if seen > MAX_ENTRIES || context.clock.now() >= ends_ns {
            return Ok(None);
        }
    }
    Ok(Some(false))
}

#[cfg(test)]
mod tests {
    use sharebench_doubles::MemoryTarget;
    use sharebench_model::ErrorClass;
    use sharebench_target::Altered;

    use super::*;
    use crate::data::peculiar_target::Habit;

    #[test]
    fn the_dot_is_blamed_only_where_another_name_works() {
        use DotNames::{Accepted, Rejected, Unlisted};
        use ErrorClass::{NoSpace, NotFound, ReadOnly, Refused};
        const DOTTED: &str = ".sharebench-1f2e3d4c-0";
        const PLAIN: &str = "bench.sharebench-1f2e3d4c-0";
        // What the target does, the directory, what is known of its names, the class of the refusal.
        let cases = [
            (Habit::Accepts, DOTTED, Some(Accepted), None),
            (Habit::Accepts, PLAIN, None, None),
            (Habit::LeavesOut, DOTTED, Some(Unlisted), None),
            (Habit::LeavesOut, PLAIN, None, None),
            (Habit::Rejects(NotFound), DOTTED, Some(Rejected), Some(NotFound)),
            (Habit::Rejects(Refused), DOTTED, Some(Rejected), Some(Refused)),
            (Habit::Rejects(Refused), PLAIN, None, None),
            (Habit::LosesFiles, DOTTED, Some(Rejected), Some(NotFound)),
            (Habit::RejectsAll(Refused), DOTTED, None, Some(Refused)),
            (Habit::RejectsAll(Refused), PLAIN, None, Some(Refused)),
            (Habit::RejectsAll(NotFound), DOTTED, None, Some(NotFound)),
            (Habit::RejectsAll(ReadOnly), DOTTED, None, Some(ReadOnly)),
            (Habit::RejectsAll(NoSpace), DOTTED, None, Some(NoSpace)),
        ];
        for (habit, directory, dot_names, refusal) in cases {
            let clock = Clock::start();
            let memory = MemoryTarget::new();
            let target = Altered::new(memory.clone(), habit);
            let checked = check_directory(&target, directory, &clock, Duration::from_secs(60));
            let check = clock.block_on(checked).unwrap().unwrap();
            assert_eq!(check.dot_names, dot_names, "{habit:?} {directory}");
            assert_eq!(check.refusal.as_ref().map(|error| error.class), refusal, "{habit:?} {directory}");
            let names_the_option = check.refusal.is_some_and(|error| error.detail.contains("--work-dir"));
            assert_eq!(names_the_option, dot_names == Some(Rejected), "{habit:?} {directory}");
            assert_eq!(check.leftover, None, "{habit:?} {directory}");
            assert_eq!(memory.names(), Vec::<String>::new(), "{habit:?} {directory}");
        }
    }
}
