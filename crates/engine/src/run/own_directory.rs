//! A directory of sharebench on a target, for commands that measure without a run.

use std::time::Duration;

use sharebench_model::OpError;
use sharebench_plan::Verify;
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::directory::make;
use crate::data::recycle_bins::remove_completely;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Makes a directory with the marker by which `sharebench clean` recognises it. `name` starts with
/// [`sharebench_target::DIRECTORY_PREFIX`]; each request may take `timeout`.
///
/// # Errors
/// The directory or its marker cannot be made. Nothing is left.
pub async fn make_own_directory(
    session: &mut dyn Session,
    name: &str,
    clock: &Clock,
    timeout: Duration,
) -> Result<(), OpError> {
    let stop = StopSignal::default();
    make(session, name, &mut context(clock, &stop, timeout)).await
}

/// Removes a directory of [`make_own_directory`] with everything in it, the marker last. One that does not exist is
/// removed already. Each request may take `timeout`.
///
/// # Errors
/// The first entry that cannot be removed; `sharebench clean` can continue.
pub async fn remove_own_directory(
    session: &mut dyn Session,
    name: &str,
    clock: &Clock,
    timeout: Duration,
) -> Result<(), OpError> {
    let stop = StopSignal::default();
    remove_completely(session, name, &mut context(clock, &stop, timeout)).await
}

fn context<'a>(clock: &'a Clock, stop: &'a StopSignal, timeout: Duration) -> PassContext<'a> {
    PassContext::new(clock, stop, Verify::Off, Deadline::new(clock, timeout))
}
