//! The entries that a job works on: their names, their content, and bringing them into the state that a test requires.

use std::ops::Range;

use sharebench_model::{EntryChange, EntryState, FileRef, MetaOp, OpError, OpenHow, StepError};
use sharebench_plan::{MetadataWork, Verify};

use crate::data::stamp::Content;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::{BatchState, DirectorySet, EntryDirectory};
use crate::metadata::entry_names::{EntryKind, entry_name};
use crate::metadata::server_side::{self, Expected};
use crate::record::request::write_next;

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

/// One entry of a batch, in the state that the passes before have left.
pub(crate) struct BatchEntry<'a> {
    pub batch: &'a Batch<'a>,
    pub number: u32,
    pub state: &'a BatchState,
}

impl BatchEntry<'_> {
    /// Its path.
    pub fn path(&self) -> String {
        self.batch.path(self.number, self.state)
    }

    /// Bytes of it where it has content.
    pub fn size(&self) -> u64 {
        self.batch.work.entry_size
    }

    /// Its content.
    pub fn content(&self) -> Content {
        Batch::content(self.number)
    }
}

impl Batch<'_> {
    /// The path that an entry has in a state of the batch.
    pub fn path(&self, number: u32, state: &BatchState) -> String {
        let directory = if state.moved { &self.directory.across } else { &self.directory.path };
        self.path_in(directory, number, state.kind())
    }

    /// The path of an entry in a directory.
    pub fn path_in(&self, directory: &str, number: u32, kind: EntryKind) -> String {
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
    pub async fn prepare(&self, state: BatchState, at: &mut Connected<'_, '_>) -> Result<(), StepError> {
        let wanted = self.work.entries_before();
        if is_ready(&state, self.work) {
            return Ok(());
        }
        for number in self.numbers.clone() {
            at.context.check_stop()?;
            let path = self.path(number, &state);
            match state.entries {
                EntryState::Absent => {}
                EntryState::Empty | EntryState::Filled | EntryState::Sparse | EntryState::Copied => {
                    at.remove(path).await?;
                }
                EntryState::Directories => {
                    at.call(MetaOp::RemoveDir { path }).await?;
                }
            }
            let path = self.path(number, &BatchState::ABSENT);
            let size = self.work.entry_size;
            match wanted {
                // Copies are what a pass makes.
                EntryState::Absent | EntryState::Copied => {}
                EntryState::Sparse => {
                    let hole = self.work.hole();
                    server_side::create(&path, Self::content(number), size, hole, at).await?;
                }
                EntryState::Empty => at.create_empty(path).await?,
                EntryState::Filled => {
                    let (file, _) = at.open(path, OpenHow::CreateNew).await?;
                    write_all(file, Self::content(number), size, at).await?;
                    at.close(file).await?;
                }
                EntryState::Directories => {
                    at.call(MetaOp::MakeDir { path }).await?;
                }
            }
        }
        Ok(())
    }
}

/// Writes the whole content of an open file.
pub(crate) async fn write_all(
    file: FileRef,
    content: Content,
    size: u64,
    at: &mut Connected<'_, '_>,
) -> Result<(), OpError> {
    let mut offset = 0;
    while offset < size {
        let deadline = &mut at.context.deadline;
        offset += u64::from(write_next(at.session, deadline, file, offset..size, content).await?);
    }
    Ok(())
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
    let in_place = !state.moved || work.test.declaration().change == EntryChange::Directory;
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
    if entries == EntryState::Absent {
        return BatchState::ABSENT;
    }
    let next = BatchState { entries, size: size_of(entries, work), ..*state };
    match work.test.declaration().change {
        EntryChange::Name => BatchState { renamed: !state.renamed, ..next },
        EntryChange::Directory => BatchState { moved: !state.moved, ..next },
        EntryChange::Modified => BatchState { modified: Some(next_modified(state)), ..next },
        EntryChange::Content if state.entries == entries => next,
        // Another change sets the time as well.
        EntryChange::Content => BatchState { modified: None, ..next },
    }
}

/// The time of modification that the next pass sets.
pub(crate) fn next_modified(state: &BatchState) -> u32 {
    state.modified.map_or(FIRST_MODIFIED, |seconds| seconds + MODIFIED_STEP)
}
