//! The steps of a run, visited one after the other.

use sharebench_model::StepResult;

use crate::error::WriteError;
use crate::stored::StoredRun;

/// A run that can be written in another format: in memory, or read from the database step by step.
///
/// Writers visit the steps and keep none of them, so that their memory does not depend on the number of steps. They may
/// visit them several times; each time the steps are the same, in the order of the schedule.
pub trait Steps {
    /// The run; its own list of steps may be empty.
    fn run(&self) -> &StoredRun;

    /// Calls `each` for every step, until it fails.
    fn visit(&self, each: &mut dyn FnMut(&StepResult) -> Result<(), WriteError>) -> Result<(), WriteError>;
}

impl Steps for StoredRun {
    fn run(&self) -> &StoredRun {
        self
    }

    fn visit(&self, each: &mut dyn FnMut(&StepResult) -> Result<(), WriteError>) -> Result<(), WriteError> {
        self.steps.iter().try_for_each(each)
    }
}
