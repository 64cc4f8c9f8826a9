//! Tests of copies, clones and holes. An operation is on a whole file.

use sharebench_model::OpError;

use crate::metadata::connected::Connected;
use crate::metadata::entries::BatchEntry;
use crate::metadata::entry_test::EntryTest;
use crate::metadata::server_side::{self, CopyMethod, Expected};
use crate::record::tally::Tally;

pub(crate) struct ServerCopy;

impl EntryTest for ServerCopy {
    async fn operate(
        entry: &BatchEntry<'_>,
        at: &mut Connected<'_, '_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        copy(CopyMethod::Copy, entry, at, tally).await
    }
}

pub(crate) struct Clone;

impl EntryTest for Clone {
    async fn operate(
        entry: &BatchEntry<'_>,
        at: &mut Connected<'_, '_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        copy(CopyMethod::Clone, entry, at, tally).await
    }
}

async fn copy(
    method: CopyMethod,
    entry: &BatchEntry<'_>,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let path = entry.path();
    let started = at.context.clock.now();
    let result = server_side::copy(method, entry.batch.source, &path, entry.size(), at).await;
    tally.operation(started, at.context.clock.now());
    tally.outcome(result)
}

pub(crate) struct PunchHole;

impl EntryTest for PunchHole {
    async fn operate(
        entry: &BatchEntry<'_>,
        at: &mut Connected<'_, '_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let path = entry.path();
        let started = at.context.clock.now();
        let result = server_side::punch(&path, entry.batch.work.hole(), at).await;
        tally.operation(started, at.context.clock.now());
        tally.outcome(result)
    }
}

pub(crate) struct SparseRead;

impl EntryTest for SparseRead {
    async fn operate(
        entry: &BatchEntry<'_>,
        at: &mut Connected<'_, '_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let path = entry.path();
        let hole = entry.batch.work.hole();
        let expected =
            Expected { content: entry.content(), size: entry.size(), hole, verify: at.context.verify };
        let (spent, result) = server_side::read(&path, &expected, at).await;
        let ended = at.context.clock.now();
        tally.operation(ended.saturating_sub(spent), ended);
        tally.outcome(result)
    }
}
