//! A finding in words.

use serde::{Deserialize, Serialize};

/// How to read a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// The numbers must not be used before this is understood.
    Alarm,
    /// A difference was found.
    Difference,
    /// No difference beyond the tolerance.
    Same,
    /// The data cannot say.
    NotResolved,
    /// Good to know; no verdict.
    Note,
}

/// The part of a map that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartReference {
    /// Index into [`crate::Analysis::comparisons`].
    pub comparison: usize,
    /// Index into [`crate::Differences::parts`] of that comparison.
    pub part: usize,
}

/// One finding in words, with its scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// How to read it.
    pub tone: Tone,
    /// Plain text.
    pub text: String,
    /// Index into [`crate::Analysis::sections`] that it speaks of.
    pub section: Option<usize>,
    /// The part of a map that it is about.
    #[serde(default)]
    pub part: Option<PartReference>,
}

impl Sentence {
    /// A sentence about the whole.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into(), section: None, part: None }
    }

    /// The same about one section.
    #[must_use]
    pub fn about(self, section: usize) -> Self {
        Self { section: Some(section), ..self }
    }

    /// The same about one part of a map.
    #[must_use]
    pub(crate) fn about_part(self, part: PartReference) -> Self {
        Self { part: Some(part), ..self }
    }
}
