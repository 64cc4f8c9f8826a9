//! What can be wrong with a file that is to be imported.

use std::fmt;

/// A file that is not imported, and where its first mistake stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// Line, from 1, where one line is at fault.
    pub line: Option<usize>,
    /// What is wrong there, and what would help.
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
