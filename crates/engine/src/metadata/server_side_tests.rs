//! Tests of copies, clones and holes. An operation is on a whole file.

use sharebench_model::OpError;

use crate::metadata::entry_test::{EntryOperation, EntryTest};
use crate::metadata::server_side::{self, CopyMethod, Expected};

pub(crate) struct ServerCopy;

impl EntryTest for ServerCopy {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        copy(CopyMethod::Copy, operation).await
    }
}

pub(crate) struct Clone;

impl EntryTest for Clone {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        copy(CopyMethod::Clone, operation).await
    }
}

async fn copy(method: CopyMethod, operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
    let EntryOperation { entry, at, tally } = operation;
    let path = entry.path();
    let started = at.context.clock.now();
    let result = server_side::copy(method, entry.batch.source, &path, entry.size(), at).await;
    tally.operation(started, at.context.clock.now());
    tally.outcome(result)
}

pub(crate) struct PunchHole;

impl EntryTest for PunchHole {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let EntryOperation { entry, at, tally } = operation;
        let path = entry.path();
        let started = at.context.clock.now();
        let result = server_side::punch(&path, entry.batch.work.hole(), at).await;
        tally.operation(started, at.context.clock.now());
        tally.outcome(result)
    }
}

pub(crate) struct SparseRead;

impl EntryTest for SparseRead {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let EntryOperation { entry, at, tally } = operation;
        let path = entry.path();
        let expected = Expected {
            content: entry.content(),
            size: entry.size(),
            hole: entry.batch.work.hole(),
            verify: at.context.verify,
        };
        let (spent, result) = server_side::read(&path, &expected, at).await;
        let ended = at.context.clock.now();
        tally.operation(ended.saturating_sub(spent), ended);
        tally.outcome(result)
    }
}
