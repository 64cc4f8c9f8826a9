//! What metadata tests show of the directories of a system.

use sharebench_model::NameCache;
use sharebench_stats::DirectoryBreak;

/// One finding on directories, of one system in one section.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectoryFinding {
    /// Index of the section.
    pub section: usize,
    /// Index of the system.
    pub system: usize,
    /// What was found.
    pub fact: DirectoryFact,
}

/// What a finding says.
#[derive(Debug, Clone, PartialEq)]
pub enum DirectoryFact {
    /// The rate falls with the number of entries.
    Falls(DirectoryBreak),
    /// The jobs in one directory, compared with jobs in directories of their own.
    Shared(RateRatio),
    /// Names that do not exist, compared with names that exist.
    Missing(RateRatio),
    /// On a mount: the part that the caches of the operating system's client answered.
    Cached(NameCacheEvidence),
}

/// What wire counts show of a cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NameCacheEvidence {
    /// The cache.
    pub cache: NameCache,
    /// Fewest and most requests per operation among the repetitions: of the cells that the cache answered in part, or of all
    /// cells if there is none.
    pub requests: (f64, f64),
    /// Cells in which the cache must have answered some of the operations.
    pub cached: usize,
    /// Cells with a count.
    pub cells: usize,
}

/// A rate over another one of the same system, at the position where they differ most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRatio {
    /// Entries of the directory.
    pub entries: u64,
    /// Operations per second.
    pub rate: f64,
    /// Operations per second that it is compared with.
    pub other: f64,
    /// False if the intervals of the two do not exclude that they are equal.
    pub differs: bool,
}
