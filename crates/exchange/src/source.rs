//! What a reader of foreign results hands over, before it becomes runs.

use sharebench_model::{Check, Coordinates, Facts, Measure};

/// A measured position and what it yielded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceStep {
    /// Index into [`SourceRun::targets`].
    pub target: u32,
    pub repetition: u32,
    pub coordinates: Coordinates,
    pub measure: Measure,
    /// What the source says against it.
    pub checks: Vec<Check>,
    /// Milliseconds since 1970; 0 where it is not told.
    pub started_unix_ms: u64,
}

impl SourceStep {
    /// The only repetition of a position, of the only target, with nothing against it.
    pub fn new(coordinates: Coordinates, measure: Measure) -> Self {
        Self { target: 0, repetition: 0, coordinates, measure, checks: Vec::new(), started_unix_ms: 0 }
    }
}

/// One run of a file that may hold several.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SourceRun {
    /// What tells it from the file's other runs; empty when it is the only one.
    pub name: String,
    /// Systems it measured, with what is told of them.
    pub targets: Vec<(String, Facts)>,
    pub steps: Vec<SourceStep>,
}

/// A file as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    /// The program that measured, with its version, where it is told.
    pub program: Option<String>,
    /// Resolution of the clock that the times came from, where it is told.
    pub clock_ns: Option<u64>,
    /// Milliseconds since 1970; 0 where it is not told.
    pub started_unix_ms: u64,
    /// What else is told of how it was measured.
    pub facts: Facts,
    pub runs: Vec<SourceRun>,
    /// What the user should know of what was left out or assumed.
    pub notes: Vec<String>,
}
