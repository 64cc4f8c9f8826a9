//! The tests of a sweep that work on the entries of directories.

/// What a cell does to the entries of a directory, in the terms of mdtest.
///
/// A test is declared in this folder (what plans, analyses and reports need to know of it, see
/// [`Declaration`](super::Declaration)) and has a line in the engine's table of drivers (what its operation is).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the declaration of each test describes it")]
pub enum MetadataTest {
    MakeDirectory,
    Create,
    CreateWrite,
    OpenClose,
    Stat,
    StatMiss,
    SetAttributes,
    ReadDirectory,
    ReadDirectoryAttributes,
    TreeWalk,
    Rename,
    RenameAcross,
    Link,
    Truncate,
    OpenReadClose,
    Unlink,
    RemoveDirectory,
    ServerCopy,
    Clone,
    PunchHole,
    SparseRead,
    Lock,
    LockNeighbours,
    LockContended,
    ShareConflict,
    Notify,
    LeaseGrant,
    LeaseBreak,
    DelegationGrant,
    DelegationRecall,
    Semaphore,
}
