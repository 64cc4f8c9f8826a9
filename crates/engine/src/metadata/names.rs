//! Tests of one operation on a name.

use std::marker::PhantomData;

use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError};

use crate::metadata::entries::{BatchEntry, after_pass, next_modified};
use crate::metadata::entry_names::EntryKind;
use crate::metadata::entry_test::{EntryOperation, EntryTest};
use crate::metadata::wrong_reply::wrong;

/// A test whose operation is one operation of the session.
pub(crate) trait NameTest: 'static {
    /// The operation.
    fn operation(entry: &BatchEntry<'_>) -> MetaOp;

    /// Compares its result with what the test expects.
    fn judge(_entry: &BatchEntry<'_>, result: Result<MetaYield, OpError>) -> Result<(), OpError> {
        result.map(drop)
    }
}

/// A [`NameTest`] as a test on entries.
pub(crate) struct OneOperation<T>(PhantomData<T>);

impl<T: NameTest> EntryTest for OneOperation<T> {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let EntryOperation { entry, at, tally } = operation;
        let op = T::operation(entry);
        let started = at.context.clock.now();
        let result = at.call(op).await;
        tally.operation(started, at.context.clock.now());
        tally.outcome(T::judge(entry, result))
    }
}

pub(crate) struct MakeDirectory;

impl NameTest for MakeDirectory {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::MakeDir { path: entry.path() }
    }
}

pub(crate) struct Stat;

impl NameTest for Stat {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::Stat { path: entry.path() }
    }

    fn judge(entry: &BatchEntry<'_>, result: Result<MetaYield, OpError>) -> Result<(), OpError> {
        check_attributes(entry, &result?)
    }
}

/// Compares the attributes of a file with those that it should have.
pub(crate) fn check_attributes(entry: &BatchEntry<'_>, found: &MetaYield) -> Result<(), OpError> {
    match found {
        MetaYield::Stat(stat) if stat.directory || stat.size != entry.size() => {
            Err(wrong(format!("a file of {} bytes has the attributes of something else", entry.size())))
        }
        _ => Ok(()),
    }
}

pub(crate) struct StatMiss;

impl NameTest for StatMiss {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        let directory = &entry.batch.directory.path;
        MetaOp::Stat { path: entry.batch.path_in(directory, entry.number, EntryKind::Missing) }
    }

    fn judge(_: &BatchEntry<'_>, result: Result<MetaYield, OpError>) -> Result<(), OpError> {
        match result {
            Err(error) if error.class == ErrorClass::NotFound => Ok(()),
            Ok(_) => Err(wrong("a name exists that was never created")),
            Err(error) => Err(error),
        }
    }
}

pub(crate) struct SetAttributes;

impl NameTest for SetAttributes {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::SetModified { path: entry.path(), seconds: next_modified(entry.state) }
    }
}

/// Within the directory or into another one, as the declaration of the test says.
pub(crate) struct Rename;

impl NameTest for Rename {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        let renamed = after_pass(entry.state, entry.batch.work);
        MetaOp::Rename { from: entry.path(), to: entry.batch.path(entry.number, &renamed) }
    }
}

pub(crate) struct Link;

impl NameTest for Link {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::Link { from: entry.batch.source.to_owned(), to: entry.path() }
    }
}

pub(crate) struct Unlink;

impl NameTest for Unlink {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::Remove { path: entry.path() }
    }
}

pub(crate) struct RemoveDirectory;

impl NameTest for RemoveDirectory {
    fn operation(entry: &BatchEntry<'_>) -> MetaOp {
        MetaOp::RemoveDir { path: entry.path() }
    }
}
