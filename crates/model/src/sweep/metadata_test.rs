//! The tests of a sweep that work on the entries of directories.

/// What a cell does to the entries of a directory, in the terms of mdtest.
///
/// The variants are in the order of the declarations of their groups ([`Declaration`](super::Declaration)): plans run the
/// tests, and reports list them, in this order. The engine's table of drivers has their operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetadataTest {
    /// Makes directories.
    MakeDirectory,
    /// Creates empty files: opens each with a new name and closes it.
    Create,
    /// Creates files, writes each in one go, and closes it.
    CreateWrite,
    /// Opens existing files and closes them.
    OpenClose,
    /// Reads the attributes of existing files.
    Stat,
    /// Requests the attributes of names that do not exist.
    StatMiss,
    /// Sets the time of modification of existing files.
    SetAttributes,
    /// Lists the directory; an operation is an entry.
    ReadDirectory,
    /// Lists the directory with the attributes of every entry, as `ls -l` does; an operation is an entry.
    ReadDirectoryAttributes,
    /// Walks all directories of the cell with the attributes of every entry, as `find` by size or time does; an operation is
    /// an entry.
    TreeWalk,
    /// Renames files within their directory.
    Rename,
    /// Renames files into another directory.
    RenameAcross,
    /// Makes hard links to one file.
    Link,
    /// Opens files with content, sets their length to 0, and closes them.
    Truncate,
    /// Opens small files, reads each whole, and closes it.
    OpenReadClose,
    /// Requests the attributes of existing files, opens and closes them, as programs do that examine a directory before they
    /// read it; an operation is all of it.
    StatThenOpen,
    /// Removes files.
    Unlink,
    /// Removes empty directories.
    RemoveDirectory,
    /// Lets the server copy a file: opens it, makes a new one, copies without the data crossing the wire, closes both.
    ServerCopy,
    /// Lets the server clone a file, which shares the storage of its source: opens it, makes a new one, clones, closes both.
    Clone,
    /// Opens files, turns the middle of each into a hole, and closes them.
    PunchHole,
    /// Opens files with a hole, reads each whole, and closes it.
    SparseRead,
    /// Locks a range of a file of the job's own and unlocks it; an operation is both.
    Lock,
    /// Locks and unlocks a range of one file of all jobs, next to the ranges of the others; an operation is both.
    LockNeighbours,
    /// Locks the same range of one file by all jobs; an operation is a hand-over, from the unlock of one job to the lock of
    /// another.
    LockContended,
    /// Opens a file that another session denies to others; an operation is an open that the server rejects.
    ShareConflict,
    /// Creates and removes a name in a directory that another session watches; an operation is from the start of the creation
    /// to the notification.
    Notify,
    /// Opens a file with a request for a lease on reads, writes and the handle, and closes it; an operation is both.
    LeaseGrant,
    /// Opens a file on which another session holds a lease, which the server breaks; an operation is that open.
    LeaseBreak,
    /// Opens a file with a request for a delegation, returns it and closes the file; an operation is all of it.
    DelegationGrant,
    /// Opens a file of which another session holds a delegation, which the server recalls; an operation is that open.
    DelegationRecall,
    /// Takes one semaphore by all jobs; an operation is a hand-over, from the signal of one job to the unit of another.
    Semaphore,
}
