//! The result of a reader of foreign formats, before it becomes runs.

use sharebench_model::{Check, Coordinates, Facts, Measure};

/// A measured position and its results.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceStep {
    /// Index into [`SourceRun::targets`].
    pub target: u32,
    pub repetition: u32,
    pub coordinates: Coordinates,
    pub measure: Measure,
    /// Warnings of the source.
    pub checks: Vec<Check>,
    /// Milliseconds since 1970; 0 where it is unknown.
    pub started_unix_ms: u64,
}

impl SourceStep {
    /// The only repetition of a position, of the only target, without warnings.
    pub fn new(coordinates: Coordinates, measure: Measure) -> Self {
        Self { target: 0, repetition: 0, coordinates, measure, checks: Vec::new(), started_unix_ms: 0 }
    }
}

/// One run of a file that may hold several.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SourceRun {
    /// Distinguishes it from the other runs of the file; empty when it is the only one.
    pub name: String,
    /// Systems it measured, with the known facts about each.
    pub targets: Vec<(String, Facts)>,
    pub steps: Vec<SourceStep>,
}

/// A file as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    /// The program that measured, with its version, where the file names it.
    pub program: Option<String>,
    /// Resolution of the clock that measured the times, where it is known.
    pub clock_ns: Option<u64>,
    /// Milliseconds since 1970; 0 where it is unknown.
    pub started_unix_ms: u64,
    /// Further facts about how it was measured.
    pub facts: Facts,
    pub runs: Vec<SourceRun>,
    /// What was left out or assumed, in sentences for the user.
    pub notes: Vec<String>,
}
