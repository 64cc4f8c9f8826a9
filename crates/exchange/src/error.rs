//! Errors of a file that is to be imported.

use std::fmt;

/// A file that is not imported, and the line of its first mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// Line number, from 1, where the mistake is on one line.
    pub line: Option<usize>,
    /// The mistake, and what would help.
    pub problem: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl ImportError {
    /// A mistake on one line, counted from 1.
    pub(crate) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    /// A mistake of the file as a whole.
    pub(crate) fn whole(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }
}
