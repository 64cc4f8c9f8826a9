//! Rights to cache a file, as a server grants them with an open.

/// What a client may cache of an open file, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheRight {
    /// Nothing.
    None,
    /// What it reads: a lease on reads, with or without the handle, or a delegation for reading.
    Reads,
    /// What it reads and writes: a lease on writes, or a delegation for writing.
    Writes,
}
