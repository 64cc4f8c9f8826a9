//! Tests whose operation opens a file, uses it and closes it, timed as one.

use std::marker::PhantomData;

use sharebench_model::{DataOp, FileRef, MetaOp, OpError, OpenHow};
use sharebench_plan::Verify;

use crate::data::mismatch::mismatch_error;
use crate::data::stamp;
use crate::metadata::entries::write_all;
use crate::metadata::entry_test::{EntryOperation, EntryTest};
use crate::metadata::names::check_attributes;
use crate::metadata::wrong_reply::wrong;
use crate::record::request::{SLOT, complete, exchange};

/// A test whose operation opens a file, uses it and closes it.
pub(crate) trait FileTest: 'static {
    /// How the file is opened.
    const HOW: OpenHow;

    /// Uses the open file, which has `size` bytes.
    async fn use_file(_: &mut EntryOperation<'_, '_>, _file: FileRef, _size: u64) -> Result<(), OpError> {
        Ok(())
    }

    /// The whole operation, which is timed.
    async fn perform(operation: &mut EntryOperation<'_, '_>, path: String) -> Result<(), OpError> {
        open_use_close::<Self>(operation, path).await
    }

    /// Counts and verifies the data of an operation that succeeded.
    fn count(_: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        Ok(())
    }
}

async fn open_use_close<T: FileTest + ?Sized>(
    operation: &mut EntryOperation<'_, '_>,
    path: String,
) -> Result<(), OpError> {
    let (file, size) = operation.at.open(path, T::HOW).await?;
    let done = T::use_file(operation, file, size).await;
    done.and(operation.at.close(file).await)
}

/// A [`FileTest`] as a test on entries.
pub(crate) struct OpenedFile<T>(PhantomData<T>);

impl<T: FileTest> EntryTest for OpenedFile<T> {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let clock = operation.at.context.clock;
        let path = operation.entry.path();
        let started = clock.now();
        let done = T::perform(operation, path).await;
        operation.tally.operation(started, clock.now());
        let counted = done.and_then(|()| T::count(operation));
        operation.tally.outcome(counted)
    }
}

pub(crate) struct Create;

impl FileTest for Create {
    const HOW: OpenHow = OpenHow::CreateNew;
}

pub(crate) struct CreateWrite;

impl FileTest for CreateWrite {
    const HOW: OpenHow = OpenHow::CreateNew;

    async fn use_file(operation: &mut EntryOperation<'_, '_>, file: FileRef, _: u64) -> Result<(), OpError> {
        let EntryOperation { entry, at, .. } = operation;
        write_all(file, entry.content(), entry.size(), at).await
    }

    fn count(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        operation.tally.bytes.written += operation.entry.size();
        Ok(())
    }
}

pub(crate) struct OpenClose;

impl FileTest for OpenClose {
    const HOW: OpenHow = OpenHow::Read;
}

pub(crate) struct Truncate;

impl FileTest for Truncate {
    const HOW: OpenHow = OpenHow::ReadWrite;

    async fn use_file(operation: &mut EntryOperation<'_, '_>, file: FileRef, _: u64) -> Result<(), OpError> {
        operation.at.call(MetaOp::SetSize { file, size: 0 }).await.map(drop)
    }
}

/// Both the attributes and the reply to the open state the size of the file.
pub(crate) struct StatThenOpen;

impl StatThenOpen {
    async fn perform(
        operation: &mut EntryOperation<'_, '_>,
        stat: MetaOp,
        path: String,
    ) -> Result<(), OpError> {
        let EntryOperation { entry, at, .. } = operation;
        let found = at.call(stat).await?;
        let (file, opened_size) = at.open(path, OpenHow::Read).await?;
        at.close(file).await?;
        check_attributes(entry, &found)?;
        if opened_size == entry.size() {
            return Ok(());
        }
        Err(wrong(format!("a file of {} bytes was opened with {opened_size} bytes", entry.size())))
    }
}

impl EntryTest for StatThenOpen {
    async fn operate(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let clock = operation.at.context.clock;
        let path = operation.entry.path();
        let stat = MetaOp::Stat { path: path.clone() };
        let started = clock.now();
        let done = Self::perform(operation, stat, path).await;
        operation.tally.operation(started, clock.now());
        operation.tally.outcome(done)
    }
}

/// Opens, reads and closes a file by one request, where the session has such a request (NFSv4 with `compound=on`). Its reply
/// does not state the size of the file, which is compared after the pass, as that of all entries.
pub(crate) struct OpenReadClose;

impl FileTest for OpenReadClose {
    const HOW: OpenHow = OpenHow::Read;

    /// Reads the whole file by one request; a shorter file is an error.
    async fn use_file(
        operation: &mut EntryOperation<'_, '_>,
        file: FileRef,
        size: u64,
    ) -> Result<(), OpError> {
        let EntryOperation { entry, at, .. } = operation;
        let len = entry.size() as u32;
        let op = DataOp::Read { file, offset: 0, len };
        let read = exchange(at.session, &mut at.context.deadline, op).await?;
        if read == len && size == entry.size() {
            return Ok(());
        }
        Err(wrong(format!("{read} of {len} bytes read from a file of {size}")))
    }

    async fn perform(operation: &mut EntryOperation<'_, '_>, path: String) -> Result<(), OpError> {
        let EntryOperation { entry, at, .. } = operation;
        if at.session.reads_whole_files() {
            let len = entry.size() as u32;
            let op = DataOp::Read { file: FileRef(0), offset: 0, len };
            return complete(op, at.context.deadline.read_file(at.session, &path, len).await);
        }
        open_use_close::<Self>(operation, path).await
    }

    fn count(operation: &mut EntryOperation<'_, '_>) -> Result<(), OpError> {
        let EntryOperation { entry, at, tally } = operation;
        tally.bytes.read += entry.size();
        let verify = at.context.verify;
        if verify == Verify::Off {
            return Ok(());
        }
        let buffer = at.session.buffer(SLOT).get(..entry.size() as usize).unwrap_or_default();
        stamp::verify(buffer, entry.content(), 0, verify)
            .map_err(|mismatch| mismatch_error(&entry.path(), &mismatch))?;
        tally.verified += entry.size();
        Ok(())
    }
}
