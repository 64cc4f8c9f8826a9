//! Directories that earlier runs left on a target.

use sharebench_model::{ErrorClass, OpError, OpStep, RunEvent};
use sharebench_target::{
    DIRECTORY_PREFIX, Session, SessionSpec, Target, is_same_directory, is_working_directory,
};

use crate::data::context::PassContext;
use crate::data::directory::remove_leftover;
use crate::data::listed_pages::{ListedPages, child_path};
use crate::data::progress_reports::ProgressReports;
use crate::data::recycle_bins::places;
use crate::run::first_connection::connect_first;
use crate::run::start_error::StartError;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Maximum number of directories of earlier runs on one target.
const MAX_LEFTOVERS: usize = 10_000;

/// The directories of earlier runs that were found on a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// Names of the removed directories.
    pub removed: Vec<String>,
    /// Names of the directories that stay, each with the reason.
    pub kept: Vec<(String, OpError)>,
}

impl Leftovers {
    /// Removes directories; false if the connection was lost.
    async fn remove(
        &mut self,
        session: &mut dyn Session,
        found: Vec<String>,
        context: &mut PassContext<'_>,
    ) -> bool {
        let mut lost: Option<OpError> = None;
        for name in found {
            let removed = match &lost {
                // Each further directory would only wait for the same timeout.
                Some(error) => Err(error.clone()),
                None => remove_leftover(session, &name, context).await,
            };
            match removed {
                Ok(()) => self.removed.push(name),
                Err(error) => {
                    lost = lost.or_else(|| error.class.ends_connection().then(|| error.clone()));
                    self.kept.push((name, error));
                }
            }
        }
        lost.is_none()
    }
}

/// Removes directories of sharebench that earlier runs left on a target, also from its recycle bins: all of them, or the one with the given name.
/// A directory that cannot be removed does not stop it, but a lost connection does. `on_removed` receives the number of
/// entries that were removed from the current directory, at most twice a second.
pub fn remove_leftovers(
    target: &dyn Target,
    only: Option<&str>,
    timeout: std::time::Duration,
    on_removed: &dyn Fn(u64),
) -> Result<Leftovers, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let removed = clock.block_on(async {
        let verify = sharebench_plan::Verify::Off;
        let deadline = Deadline::new(&clock, timeout);
        let mut context = PassContext::new(&clock, &stop, verify, deadline);
        let send = |event| {
            if let RunEvent::Removing { entries, .. } = event {
                on_removed(entries);
            }
        };
        let reports = ProgressReports::new(&send);
        reports.begin(0, clock.now());
        context.reports = Some(&reports);
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: true };
        let mut session = connect_first(target, &spec).await?;
        let directory = only.unwrap_or(DIRECTORY_PREFIX).to_owned();
        let failed =
            |error| StartError::Prepare { target: target.url(), directory: directory.clone(), error };
        let found = find(session.as_mut(), "", only, &mut context).await.map_err(&failed)?;
        let mut leftovers = Leftovers::default();
        let is_connected = leftovers.remove(session.as_mut(), found, &mut context).await;
        if is_connected {
            // A recycle bin has what the removal deleted.
            let (_, places) = places(session.as_mut(), &mut context).await.map_err(&failed)?;
            let mut in_bins = Vec::new();
            for place in places {
                in_bins.extend(find(session.as_mut(), &place, only, &mut context).await.map_err(&failed)?);
            }
            if leftovers.remove(session.as_mut(), in_bins, &mut context).await {
                session.close().await;
            }
        }
        Ok(leftovers)
    });
    removed.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}

/// Paths of the directories of sharebench in a directory.
async fn find(
    session: &mut dyn Session,
    parent: &str,
    only: Option<&str>,
    context: &mut PassContext<'_>,
) -> Result<Vec<String>, OpError> {
    // The names are 8.3 where the volume, or the one who made them, knew no others.
    let ours =
        |name: &str| is_working_directory(name) && only.is_none_or(|only| is_same_directory(only, name));
    let mut pages = ListedPages::from_path(parent);
    let mut found = Vec::new();
    while let Some(page) = pages.next(session, context).await? {
        for entry in page.entries.iter().filter(|entry| entry.directory && ours(&entry.name)) {
            found.push(child_path(parent, &entry.name)?);
        }
        if found.len() > MAX_LEFTOVERS {
            let detail = format!("more than {MAX_LEFTOVERS} directories have names of sharebench");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sharebench_doubles::MemoryTarget;
    use sharebench_model::{MetaOp, OpenHow};
    use sharebench_target::{MARKER, SHORT_MARKER, call};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A target with these directories, each with a marker of that name and a file, or empty.
    fn target(directories: &[(&str, Option<&str>)]) -> MemoryTarget {
        let target = MemoryTarget::new();
        let clock = Clock::start();
        let made = clock.block_on(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            for (directory, marker) in directories {
                call(&mut *session, MetaOp::MakeDir { path: (*directory).to_owned() }).await.unwrap();
                for name in marker.iter().flat_map(|marker| [*marker, "file"]) {
                    let open = MetaOp::open(format!("{directory}/{name}"), OpenHow::CreateNew);
                    call(&mut *session, open).await.unwrap();
                }
            }
        });
        made.unwrap();
        target
    }

    #[test]
    fn directories_with_long_and_8_3_names_are_found_and_removed() {
        let target = target(&[
            (".sharebench-1f2e3d4c-0", Some(MARKER)),
            ("1F2E3D4C.S01", Some(SHORT_MARKER)),
            ("~0123UVV.SBK", Some(SHORT_MARKER)),
            ("19970812.S00", None),
            (".sharebench-empty", None),
            ("REPORT97.DOC", Some(SHORT_MARKER)),
        ]);
        let found = remove_leftovers(&target, None, PATIENCE, &|_| {}).unwrap();
        let removed = [".sharebench-1f2e3d4c-0", ".sharebench-empty", "1F2E3D4C.S01", "~0123UVV.SBK"];
        assert_eq!(found.removed, removed);
        assert_eq!(found.kept.len(), 1);
        let (name, why) = &found.kept[0];
        assert!(name == "19970812.S00" && why.to_string().contains(SHORT_MARKER), "{name}: {why}");
        let names = target.names();
        assert!(names.iter().any(|name| name.starts_with("REPORT97.DOC")), "{names:?}");
    }

    #[test]
    fn one_directory_is_found_by_either_of_its_names() {
        for only in [".sharebench-1f2e3d4c-1", "1f2e3d4c.s01"] {
            let target =
                target(&[("1F2E3D4C.S01", Some(SHORT_MARKER)), ("1F2E3D4C.S02", Some(SHORT_MARKER))]);
            let found = remove_leftovers(&target, Some(only), PATIENCE, &|_| {}).unwrap();
            assert_eq!((found.removed, found.kept), (vec!["1F2E3D4C.S01".to_owned()], Vec::new()), "{only}");
        }
    }
}
