//! Directories that earlier runs left on a target.

use sharebench_target::{SessionSpec, Target};

use crate::data::context::PassContext;
use crate::data::directory::{DIRECTORY_PREFIX, remove_tree};
use crate::run::start_error::StartError;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Removes directories of sharebench that earlier runs left on a target: all of them, or the one with the given name.
/// Returns the names of the removed directories.
pub fn remove_leftovers(
    target: &dyn Target,
    only: Option<&str>,
    timeout: std::time::Duration,
) -> Result<Vec<String>, StartError> {
    let clock = Clock::start();
    let stop = StopSignal::default();
    let removed = clock.block_on(async {
        let verify = sharebench_plan::Verify::Off;
        let deadline = Deadline::new(&clock, timeout);
        let mut context =
            PassContext { clock: &clock, stop: &stop, verify, deadline, server_disk_stat: None };
        let spec = SessionSpec { slots: 1, slot_bytes: 4096, connect_timeout: timeout, allow_split: true };
        let mut session = target.connect(&spec).await?;
        let directory = only.unwrap_or(DIRECTORY_PREFIX).to_owned();
        let failed = |error| StartError::Prepare { target: target.url(), directory, error };
        let list = sharebench_model::MetaOp::List { path: String::new() };
        let entries = match context.deadline.call(session.as_mut(), list).await {
            Ok(sharebench_model::MetaYield::Entries(entries)) => entries,
            Ok(_) => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        // The prefix is what makes removal safe: sharebench never touches a name that it did not create.
        let ours = |name: &str| name.starts_with(DIRECTORY_PREFIX) && only.is_none_or(|only| only == name);
        let names: Vec<String> = entries
            .into_iter()
            .filter(|entry| entry.directory)
            .map(|entry| entry.name)
            .filter(|name| ours(name))
            .collect();
        for name in &names {
            if let Err(error) = remove_tree(session.as_mut(), name, &mut context).await {
                return Err(failed(error));
            }
        }
        session.close().await;
        Ok(names)
    });
    removed.unwrap_or_else(|error| Err(StartError::Runtime(error.to_string())))
}
