//! What is known of a metadata test before it runs.

use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

/// What the entries that a job works on are before a pass of a test, and after it. The other entries of the directory
/// only fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryState {
    /// They do not exist.
    Absent,
    /// Empty files.
    Empty,
    /// Files with content.
    Filled,
    /// Files with content whose middle is a hole.
    Sparse,
    /// Files with the content of one source.
    Copied,
    /// Empty directories.
    Directories,
}

/// What a pass changes of entries that exist before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryChange {
    /// Nothing, or their content.
    Content,
    /// Their names.
    Name,
    /// The directory that they are in.
    Directory,
    /// Their time of modification.
    Modified,
}

/// What a target must support for a test. Servers and file systems differ within one protocol, so the engine tries each
/// requirement once, before the first cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// Times of modification that a client sets.
    ModificationTimes,
    /// Hard links.
    HardLinks,
    /// Copies that the server makes by itself.
    ServerCopies,
    /// Copies that share the storage of their source.
    Clones,
    /// Holes in files.
    Holes,
    /// Locks of byte ranges.
    Locks,
    /// Opens that deny a file to others.
    ShareModes,
    /// Reports of changes in a directory.
    Notifications,
    /// Leases or oplocks of any kind.
    Leases,
    /// Leases or oplocks on writes, which an open of another session breaks.
    WriteLeases,
    /// Delegations.
    Delegations,
    /// Semaphores.
    Semaphores,
}

/// How the operations of the jobs of a cell follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Succession {
    /// Each job begins an operation when the one before it has ended.
    Immediate,
    /// Between its operations a job does what is not measured, so that the time between them is no idle time.
    Interrupted,
    /// An operation is the hand-over of one lock, or of a semaphore, from a job to another one. Between two of them a job holds it.
    HandedOver,
}

/// The file data that the operations of a test move between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileData {
    /// Nothing.
    Stays,
    /// What is read.
    Read,
    /// What is written.
    Written,
}

/// A cache of the operating system's client for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCache {
    /// Names with their attributes.
    Attributes,
    /// Names that do not exist.
    Missing,
    /// The content of directories.
    Listing,
    /// Files that stay open at the server, or rights to open them.
    Opens,
}

/// All there is to know of a metadata test before it runs: what plans accept, what directories are prepared and verified,
/// how checks and analyses judge the numbers, and what reports say.
#[derive(Debug)]
pub struct Declaration {
    /// The test.
    pub test: MetadataTest,
    /// The name in plans, tables and databases.
    pub name: &'static str,
    /// The group that the test belongs to, which determines the axes of its cells.
    pub group: MetadataGroup,
    /// What follows "An operation is " in reports; none where the name of the test says it.
    pub operation: Option<&'static str>,
    /// The entries that a pass needs.
    pub before: EntryState,
    /// The entries that a pass leaves.
    pub after: EntryState,
    /// What a pass changes of entries that stay.
    pub change: EntryChange,
    /// What the target must support, apart from names and files.
    pub requirement: Option<Requirement>,
    /// The least number of jobs with which the test has a meaning.
    pub min_jobs: u32,
    /// Each job has a second session: it holds, denies or watches what the first one works on.
    pub second_session: bool,
    /// A job can have several operations in flight. Those of a listing cannot overlap, because a page begins where the one before
    /// it ended. Those of locks and of files that the server copies are about one file at a time.
    pub takes_depth: bool,
    /// The operations are the entries of listings, those of residents included.
    pub lists: bool,
    /// How its operations follow each other.
    pub succession: Succession,
    /// The file data that its operations move.
    pub file_data: FileData,
    /// The cache that can answer its operations on a mount; none if they change something.
    pub name_cache: Option<NameCache>,
}

impl Declaration {
    /// A test on existing empty files that has no further requirements and changes nothing.
    pub(super) const fn new(test: MetadataTest, name: &'static str, group: MetadataGroup) -> Self {
        Self {
            test,
            name,
            group,
            operation: None,
            before: EntryState::Empty,
            after: EntryState::Empty,
            change: EntryChange::Content,
            requirement: None,
            min_jobs: 1,
            second_session: false,
            takes_depth: matches!(group, MetadataGroup::Names),
            lists: false,
            succession: Succession::Immediate,
            file_data: FileData::Stays,
            name_cache: None,
        }
    }
}
