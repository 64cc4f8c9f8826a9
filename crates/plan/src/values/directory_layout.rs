//! Where the jobs of a metadata cell have their entries.

use std::fmt;
use std::str::FromStr;

/// The directories of a metadata cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum DirectoryLayout {
    /// Each job has a directory of its own (mdtest `-u`).
    #[default]
    Own,
    /// All jobs work in one directory, on entries of their own.
    Shared,
    /// All jobs work in the leaves of one tree, on entries of their own (mdtest `-z` and `-b`).
    Tree,
}

impl DirectoryLayout {
    const NAMES: [(&'static str, Self); 3] =
        [("own", Self::Own), ("shared", Self::Shared), ("tree", Self::Tree)];

    /// The name in plans and coordinates.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for DirectoryLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DirectoryLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, layout)| *layout).ok_or_else(|| format!("'{text}' is none of own, shared and tree"))
    }
}
