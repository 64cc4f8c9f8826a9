//! Tests whose operations are on single entries of a batch, and a pass of such a test.

use futures_util::future::LocalBoxFuture;
use sharebench_model::{OpError, StepError};

use crate::metadata::connected::Connected;
use crate::metadata::directory_set::BatchState;
use crate::metadata::entries::{Batch, BatchEntry};
use crate::metadata::pipeline::{self, PipelineSlot};
use crate::record::tally::Tally;

/// An entry, with the session that works on it and the tally that counts it.
pub(crate) struct EntryOperation<'o, 'c> {
    pub entry: BatchEntry<'o>,
    pub at: Connected<'o, 'c>,
    pub tally: &'o mut Tally,
}

/// A test whose operations are on single entries of a batch, at any queue depth. Each test is a type: a pass is compiled for
/// it, so that operations are not dispatched.
pub(crate) trait EntryTest: 'static {
    /// Performs the operation of the test on an entry, times it and counts it.
    ///
    /// # Errors
    /// What ends the step. Anything else is counted.
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError>;
}

/// What a pass over the entries of a job needs.
pub(crate) struct EntryPass<'p, 'a> {
    pub batches: Vec<Batch<'p>>,
    pub state: &'p BatchState,
    pub at: Connected<'p, 'a>,
    pub tally: &'p mut Tally,
    pub slot_bytes: u32,
    /// The slots of the session at a queue depth above 1; none at depth 1.
    pub slots: &'p mut [PipelineSlot<'a>],
}

/// A pass of one test. It is one allocation, whatever its number of operations.
pub(crate) type PerformPass = for<'p, 'a> fn(EntryPass<'p, 'a>) -> LocalBoxFuture<'p, Result<(), StepError>>;

/// Performs the operation of the test on every entry.
pub(crate) fn pass<'p, T: EntryTest>(pass: EntryPass<'p, '_>) -> LocalBoxFuture<'p, Result<(), StepError>> {
    Box::pin(async move {
        let EntryPass { batches, state, at, tally, slot_bytes, slots } = pass;
        let Connected { session, context } = at;
        if !slots.is_empty() {
            return pipeline::pass::<T>(&batches, state, session, slot_bytes, slots).await;
        }
        for batch in &batches {
            for number in batch.numbers.clone() {
                context.check_stop()?;
                let entry = BatchEntry { batch, number, state };
                let at = Connected::new(session, context);
                T::operate(&mut EntryOperation { entry, at, tally }).await?;
            }
        }
        Ok(())
    })
}
