//! Directories that earlier runs left on a target.

use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_target::{DIRECTORY_PREFIX, Session, SessionSpec, Target};

use crate::data::context::PassContext;
use crate::data::directory::remove_leftover;
use crate::data::listed_pages::ListedPages;
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

/// Removes directories of sharebench that earlier runs left on a target: all of them, or the one with the given name.
/// A directory that cannot be removed does not stop it, but a lost connection does.
pub fn remove_leftovers(
    target: &dyn Target,
    only: Option<&str>,
    timeout: std::time::Duration,
) -> Result<Leftovers, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let removed = clock.block_on(async {
        let verify = sharebench_plan::Verify::Off;
        let deadline = Deadline::new(&clock, timeout);
        let mut context = PassContext::new(&clock, &stop, verify, deadline);
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: true };
        let mut session = target.connect(&spec).await?;
        let directory = only.unwrap_or(DIRECTORY_PREFIX).to_owned();
        let failed = |error| StartError::Prepare { target: target.url(), directory, error };
        let found = find(session.as_mut(), only, &mut context).await.map_err(failed)?;
        let mut leftovers = Leftovers::default();
        let mut lost: Option<OpError> = None;
        for name in found {
            let removed = match &lost {
                Some(error) => Err(error.clone()),
                None => remove_leftover(session.as_mut(), &name, &mut context).await,
            };
            match removed {
                Ok(()) => leftovers.removed.push(name),
                Err(error) => {
                    // Each further directory would only wait for the same timeout.
                    if error.class.ends_connection() {
                        lost = Some(error.clone());
                    }
                    leftovers.kept.push((name, error));
                }
            }
        }
        if lost.is_none() {
            session.close().await;
        }
        Ok(leftovers)
    });
    removed.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}

/// Names of the directories of sharebench on a target.
async fn find(
    session: &mut dyn Session,
    only: Option<&str>,
    context: &mut PassContext<'_>,
) -> Result<Vec<String>, OpError> {
    let ours = |name: &str| name.starts_with(DIRECTORY_PREFIX) && only.is_none_or(|only| only == name);
    let mut pages = ListedPages::of("");
    let mut found = Vec::new();
    while let Some(page) = pages.next(session, context).await? {
        let directories = page.entries.into_iter().filter(|entry| entry.directory && ours(&entry.name));
        found.extend(directories.map(|entry| entry.name));
        if found.len() > MAX_LEFTOVERS {
            let detail = format!("more than {MAX_LEFTOVERS} directories begin with {DIRECTORY_PREFIX}");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
    }
    Ok(found)
}
