//! The operations of the tests on single entries, and bringing a batch into the state that a test requires.

use std::ops::Range;

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep, OpenHow, StepError};
use sharebench_plan::{EntryState, MetadataTest, MetadataWork, Verify};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::stamp::{self, Content};
use crate::metadata::directory_set::{BatchState, DirectorySet, EntryDirectory, create_empty};
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::server_side::{self, Expected};
use crate::record::request::{SLOT, complete, exchange, write_next};
use crate::record::tally::Tally;

/// The time of modification that the first pass sets, in seconds since 1970; each further pass sets a later one. Times of
/// DOS have a resolution of two seconds.
const FIRST_MODIFIED: u32 = 1_000_000_000;
/// Seconds from the time that one pass sets to that of the next.
const MODIFIED_STEP: u32 = 2;

/// The batch of a job in one directory.
pub(crate) struct Batch<'a> {
    pub work: &'a MetadataWork,
    pub directory: &'a EntryDirectory,
    /// Numbers of its entries.
    pub numbers: Range<u32>,
    pub source: &'a str,
}

impl Batch<'_> {
    /// The path that an entry has in a state of the batch.
    pub fn path(&self, number: u32, state: &BatchState) -> String {
        let directory = if state.moved { &self.directory.across } else { &self.directory.path };
        self.path_in(directory, number, state.kind())
    }

    fn path_in(&self, directory: &str, number: u32, kind: EntryKind) -> String {
        format!("{directory}/{}", entry_name(kind, number, self.work.name_length))
    }

    /// The content of an entry: that of a file of its number, so that a mix-up of two entries is found.
    pub fn content(number: u32) -> Content {
        Content { file: number, generation: 1, kind: None }
    }

    /// What an entry should hold in a state of the batch.
    pub fn expected(&self, number: u32, state: &BatchState, verify: Verify) -> Expected {
        let copied = state.entries == EntryState::Copied;
        let content = if copied { server_side::SOURCE } else { Self::content(number) };
        let end = state.size..state.size;
        let hole = if state.entries == EntryState::Sparse { self.work.hole() } else { end };
        Expected { content, size: state.size, hole, verify }
    }

    /// Brings the entries from `state` into the state that the test requires, unmeasured.
    pub async fn prepare(
        &self,
        state: BatchState,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let wanted = self.work.entries_before();
        if is_ready(&state, self.work) {
            return Ok(());
        }
        for number in self.numbers.clone() {
            if context.stop.is_stopped() {
                return Err(StepError::Stopped);
            }
            let path = self.path(number, &state);
            match state.entries {
                EntryState::Absent => {}
                EntryState::Empty | EntryState::Filled | EntryState::Sparse | EntryState::Copied => {
                    context.deadline.call(session, MetaOp::Remove { path }).await?;
                }
                EntryState::Directories => {
                    context.deadline.call(session, MetaOp::RemoveDir { path }).await?;
                }
            }
            let path = self.path(number, &BatchState::ABSENT);
            match wanted {
                // Copies are what a pass makes.
                EntryState::Absent | EntryState::Copied => {}
                EntryState::Sparse => {
                    let size = self.work.entry_size;
                    let content = Self::content(number);
                    server_side::create(&path, content, (size, self.work.hole()), session, context).await?;
                }
                EntryState::Empty => create_empty(session, path, context).await?,
                EntryState::Filled => self.create_filled(number, path, session, context).await?,
                EntryState::Directories => {
                    context.deadline.call(session, MetaOp::MakeDir { path }).await?;
                }
            }
        }
        Ok(())
    }

    /// The operation of the test on one entry, whose result is the bytes that it moved.
    pub async fn operate(
        &self,
        number: u32,
        state: &BatchState,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let path = self.path(number, state);
        match self.work.test {
            MetadataTest::MakeDirectory => {
                self.timed(MetaOp::MakeDir { path }, session, context, tally).await
            }
            MetadataTest::Stat => self.timed(MetaOp::Stat { path }, session, context, tally).await,
            MetadataTest::StatMiss => {
                let path = self.path_in(&self.directory.path, number, EntryKind::Missing);
                self.timed(MetaOp::Stat { path }, session, context, tally).await
            }
            MetadataTest::SetAttributes => {
                let seconds = next_modified(state);
                self.timed(MetaOp::SetModified { path, seconds }, session, context, tally).await
            }
            MetadataTest::Rename | MetadataTest::RenameAcross => {
                let to = self.path(number, &after_pass(state, self.work));
                self.timed(MetaOp::Rename { from: path, to }, session, context, tally).await
            }
            MetadataTest::Link => {
                let from = self.source.to_owned();
                self.timed(MetaOp::Link { from, to: path }, session, context, tally).await
            }
            MetadataTest::Unlink => self.timed(MetaOp::Remove { path }, session, context, tally).await,
            MetadataTest::RemoveDirectory => {
                self.timed(MetaOp::RemoveDir { path }, session, context, tally).await
            }
            MetadataTest::Create | MetadataTest::CreateWrite => {
                self.opened(path, OpenHow::CreateNew, number, session, context, tally).await
            }
            MetadataTest::OpenClose | MetadataTest::OpenReadClose => {
                self.opened(path, OpenHow::Read, number, session, context, tally).await
            }
            MetadataTest::Truncate => {
                self.opened(path, OpenHow::ReadWrite, number, session, context, tally).await
            }
            MetadataTest::ServerCopy
            | MetadataTest::Clone
            | MetadataTest::PunchHole
            | MetadataTest::SparseRead => {
                let content = Self::content(number);
                server_side::operate(self.work, (self.source, &path), content, session, context, tally).await
            }
            // These work on whole directories, or on open files.
            MetadataTest::ReadDirectory
            | MetadataTest::ReadDirectoryAttributes
            | MetadataTest::TreeWalk
            | MetadataTest::Lock
            | MetadataTest::LockNeighbours
            | MetadataTest::LockContended
            | MetadataTest::ShareConflict
            | MetadataTest::Notify
            | MetadataTest::LeaseGrant
            | MetadataTest::LeaseBreak
            | MetadataTest::DelegationGrant
            | MetadataTest::DelegationRecall
            | MetadataTest::Semaphore => Ok(()),
        }
    }

    /// One operation on a name.
    async fn timed(
        &self,
        op: MetaOp,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let started = context.clock.now();
        let result = context.deadline.call(session, op).await;
        tally.operation(started, context.clock.now());
        tally.outcome(judged(self.work, result))
    }

    /// An operation that opens a file, does what the test does with it, and closes it. It is timed as one.
    async fn opened(
        &self,
        path: String,
        how: OpenHow,
        number: u32,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let shown = (context.verify != Verify::Off).then(|| path.clone());
        let started = context.clock.now();
        let result = self.within_open(path, how, number, session, context).await;
        tally.operation(started, context.clock.now());
        let size = self.work.entry_size;
        match (&result, self.work.test) {
            (Ok(()), MetadataTest::CreateWrite) => tally.bytes.written += size,
            (Ok(()), MetadataTest::OpenReadClose) => {
                tally.bytes.read += size;
                let buffer = session.buffer(SLOT).get(..size as usize).unwrap_or_default();
                if let Some(path) = shown {
                    let verified = verified(buffer, number, &path, context.verify);
                    tally.verified += if verified.is_ok() { size } else { 0 };
                    return tally.outcome(verified);
                }
            }
            _ => {}
        }
        tally.outcome(result)
    }

    async fn within_open(
        &self,
        path: String,
        how: OpenHow,
        number: u32,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        if self.work.test == MetadataTest::OpenReadClose && session.reads_whole_files() {
            return self.read_at_once(&path, session, context).await;
        }
        let open = MetaOp::open(path, how);
        let (file, size) = context.deadline.call(session, open).await.and_then(MetaYield::into_opened)?;
        let done = match self.work.test {
            MetadataTest::CreateWrite => self.write(file, number, session, context).await,
            MetadataTest::OpenReadClose => self.read(file, size, session, context).await,
            MetadataTest::Truncate => {
                context.deadline.call(session, MetaOp::SetSize { file, size: 0 }).await.map(drop)
            }
            _ => Ok(()),
        };
        let closed = context.deadline.call(session, MetaOp::Close { file }).await.map(drop);
        done.and(closed)
    }

    async fn write(
        &self,
        file: FileRef,
        number: u32,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        let mut at = 0;
        while at < self.work.entry_size {
            let bytes = at..self.work.entry_size;
            let content = Self::content(number);
            at += u64::from(write_next(session, &mut context.deadline, file, bytes, content).await?);
        }
        Ok(())
    }

    /// Reads the whole file by one request; a shorter file is an error.
    async fn read(
        &self,
        file: FileRef,
        size: u64,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        let len = self.work.entry_size as u32;
        let op = DataOp::Read { file, offset: 0, len };
        let read = exchange(session, &mut context.deadline, op).await?;
        if read == len && size == self.work.entry_size {
            return Ok(());
        }
        let detail = format!("{read} of {len} bytes read from a file of {size}");
        Err(OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail))
    }

    /// Opens, reads and closes a file by one request, where the session has such a request (NFSv4 with `compound=on`). Its
    /// reply does not state the size of the file, which is compared after the pass, as that of all entries.
    async fn read_at_once(
        &self,
        path: &str,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        let len = self.work.entry_size as u32;
        let op = DataOp::Read { file: FileRef(0), offset: 0, len };
        complete(op, context.deadline.read_file(session, path, len).await)
    }

    async fn create_filled(
        &self,
        number: u32,
        path: String,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        let open = MetaOp::open(path, OpenHow::CreateNew);
        let (file, _) = context.deadline.call(session, open).await.and_then(MetaYield::into_opened)?;
        self.write(file, number, session, context).await?;
        context.deadline.call(session, MetaOp::Close { file }).await.map(drop)
    }
}

/// The only file in the directory of a job, of tests with one entry.
pub(crate) fn own_file(work: &MetadataWork, set: &DirectorySet, job: u32) -> String {
    let directory = set.of_job(work, job).first().map_or("", |directory| directory.path.as_str());
    format!("{directory}/{}", entry_name(EntryKind::Batch, 0, work.name_length))
}

/// Bytes of each entry of a kind; 0 for those without content.
fn size_of(entries: EntryState, work: &MetadataWork) -> u64 {
    match entries {
        EntryState::Filled | EntryState::Sparse | EntryState::Copied => work.entry_size,
        EntryState::Absent | EntryState::Empty | EntryState::Directories => 0,
    }
}

/// True if a batch in `state` needs no preparation for the test.
fn is_ready(state: &BatchState, work: &MetadataWork) -> bool {
    let wanted = work.entries_before();
    // The directory of any other test has its entries itself.
    let in_place = !state.moved || work.test == MetadataTest::RenameAcross;
    in_place && state.entries == wanted && state.size == size_of(wanted, work)
}

/// The state of a batch when it is prepared for the test.
pub(crate) fn prepared(state: BatchState, work: &MetadataWork) -> BatchState {
    if is_ready(&state, work) {
        return state;
    }
    let entries = work.entries_before();
    let size = size_of(entries, work);
    BatchState { entries, size, ..BatchState::ABSENT }
}

/// The state that a pass of the test leaves.
pub(crate) fn after_pass(state: &BatchState, work: &MetadataWork) -> BatchState {
    let entries = work.entries_after();
    let size = size_of(entries, work);
    let next = BatchState { entries, size, ..*state };
    match work.test {
        MetadataTest::Rename => BatchState { renamed: !state.renamed, ..next },
        MetadataTest::RenameAcross => BatchState { moved: !state.moved, ..next },
        MetadataTest::SetAttributes => BatchState { modified: Some(next_modified(state)), ..next },
        _ if entries == EntryState::Absent => BatchState::ABSENT,
        // Another change sets the time as well.
        MetadataTest::Truncate => BatchState { modified: None, ..next },
        _ => next,
    }
}

fn next_modified(state: &BatchState) -> u32 {
    state.modified.map_or(FIRST_MODIFIED, |seconds| seconds + MODIFIED_STEP)
}

/// The result of an operation on a name, compared with what the test expects.
fn judged(work: &MetadataWork, result: Result<MetaYield, OpError>) -> Result<(), OpError> {
    let wrong = |detail: &str| Err(OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail));
    match (work.test, result) {
        (MetadataTest::StatMiss, Err(error)) if error.class == ErrorClass::NotFound => Ok(()),
        (MetadataTest::StatMiss, Ok(_)) => wrong("a name exists that was never created"),
        (MetadataTest::Stat, Ok(MetaYield::Stat(stat))) if stat.directory || stat.size != work.entry_size => {
            wrong(&format!("a file of {} bytes has the attributes of something else", work.entry_size))
        }
        (_, result) => result.map(drop),
    }
}

/// Compares what was read from an entry with its content.
fn verified(buffer: &[u8], number: u32, path: &str, verify: Verify) -> Result<(), OpError> {
    stamp::verify(buffer, Batch::content(number), 0, verify)
        .map_err(|mismatch| crate::data::mismatch::mismatch_error(path, &mismatch))
}
