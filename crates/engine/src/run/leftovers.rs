//! Directories that earlier runs left on a target.

use sharebench_model::{MetaOp, MetaYield, OpError};
use sharebench_target::{DIRECTORY_PREFIX, SessionSpec, Target};

use crate::data::context::PassContext;
use crate::data::directory::remove_leftover;
use crate::run::start_error::StartError;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// The directories of earlier runs that were found on a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// Names of the removed directories.
    pub removed: Vec<String>,
    /// Names of the directories that stay, each with the reason.
    pub kept: Vec<(String, OpError)>,
}

/// Removes directories of sharebench that earlier runs left on a target: all of them, or the one with the given name.
/// A directory that cannot be removed does not stop it.
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
        let entries =
            match context.deadline.call(session.as_mut(), MetaOp::List { path: String::new() }).await {
                Ok(MetaYield::Entries(entries)) => entries,
                Ok(_) => Vec::new(),
                Err(error) => return Err(failed(error)),
            };
        let ours = |name: &str| name.starts_with(DIRECTORY_PREFIX) && only.is_none_or(|only| only == name);
        let mut leftovers = Leftovers::default();
        for entry in entries.into_iter().filter(|entry| entry.directory && ours(&entry.name)) {
            match remove_leftover(session.as_mut(), &entry.name, &mut context).await {
                Ok(()) => leftovers.removed.push(entry.name),
                Err(error) => leftovers.kept.push((entry.name, error)),
            }
        }
        session.close().await;
        Ok(leftovers)
    });
    removed.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}
