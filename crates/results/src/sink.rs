//! Run events into the store.

use sharebench_model::RunEvent;

use crate::error::{Problem, StoreError};
use crate::store::Store;
use crate::stored::RunId;

/// Writes the events of one run into a [`Store`]. Each finished step is durable when [`Self::record`] returns.
///
/// It owns the store for the duration of the run and translates events into calls in their required order: begin or
/// reopen the run, record facts and steps, finish it. Events that only concern a live view are ignored. An event out
/// of order is an error, because the stored run would not be what the engine did.
#[derive(Debug)]
pub struct RunSink {
    store: Store,
    run: Option<RunId>,
    resumed: bool,
}

impl RunSink {
    /// For a new run, which begins with [`RunEvent::Started`].
    pub fn new(store: Store) -> Self {
        Self { store, run: None, resumed: false }
    }

    /// For the missing steps of an interrupted or stopped run; its header stays as it was. Steps that are measured `again`
    /// are removed.
    pub fn resume(mut store: Store, run: RunId, again: &[u32]) -> Result<Self, StoreError> {
        store.reopen_run(run)?;
        store.discard_steps(run, again)?;
        Ok(Self { store, run: Some(run), resumed: true })
    }

    /// The run's number, once it has started.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// The store, for reading what was recorded.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends recording and gives the store back.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Takes one event; those that only concern a live view are ignored.
    pub fn record(&mut self, event: &RunEvent) -> Result<(), StoreError> {
        match event {
            RunEvent::Started(header) => match self.run {
                None => {
                    self.run = Some(self.store.begin_run(header)?);
                    Ok(())
                }
                // The first `Started` of a resumed run repeats the header that is stored already.
                Some(_) if std::mem::take(&mut self.resumed) => Ok(()),
                Some(run) => Err(self.out_of_order(&format!("run {run} has started before"))),
            },
            RunEvent::TargetReady { target, facts } | RunEvent::TargetDone { target, facts } => {
                let run = self.started()?;
                self.store.set_facts(run, *target, facts)
            }
            RunEvent::StepFinished(step) => {
                let run = self.started()?;
                self.store.record_step(run, step)
            }
            RunEvent::Finished(outcome) => {
                let run = self.started()?;
                self.store.finish_run(run, outcome)
            }
            RunEvent::StepStarted { .. }
            | RunEvent::Round(_)
            | RunEvent::Precision(_)
            | RunEvent::Progress { .. }
            | RunEvent::Preparing { .. }
            | RunEvent::Removing { .. }
            | RunEvent::Failure { .. }
            | RunEvent::Warning(_) => Ok(()),
        }
    }

    fn started(&self) -> Result<RunId, StoreError> {
        self.run.ok_or_else(|| self.out_of_order("the run has not started"))
    }

    fn out_of_order(&self, why: &str) -> StoreError {
        Problem::OutOfOrder(why.to_owned()).at(self.store.path(), "record an event")
    }
}
