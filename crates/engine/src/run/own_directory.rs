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

/// A directory with the marker by which `sharebench clean` recognises it.
#[derive(Debug, Clone, Copy)]
pub struct OwnDirectory<'a> {
    /// Its name, which starts with [`sharebench_target::DIRECTORY_PREFIX`].
    pub name: &'a str,
    /// The clock of the deadline.
    pub clock: &'a Clock,
    /// How long each request may take.
    pub timeout: Duration,
}

impl OwnDirectory<'_> {
    /// Makes the directory.
    ///
    /// # Errors
    /// The directory or its marker cannot be made. Nothing is left.
    pub async fn make(&self, session: &mut dyn Session) -> Result<(), OpError> {
        make(session, self.name, &mut self.context(&StopSignal::default())).await
    }

    /// Removes the directory with everything in it, the marker last. One that does not exist is removed already.
    ///
    /// # Errors
    /// The first entry that cannot be removed; `sharebench clean` can continue.
    pub async fn remove(&self, session: &mut dyn Session) -> Result<(), OpError> {
        remove_completely(session, self.name, &mut self.context(&StopSignal::default())).await
    }

    fn context<'s>(&'s self, stop: &'s StopSignal) -> PassContext<'s> {
        PassContext::new(self.clock, stop, Verify::Off, Deadline::new(self.clock, self.timeout))
    }
}
