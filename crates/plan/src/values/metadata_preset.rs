//! Presets of metadata tests: the phases of programs that the field compares by.

use std::fmt;

use super::{DirectoryLayout, MetadataTest};

/// The metadata phases of IO500, which runs mdtest in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataPreset {
    /// Empty files, a directory for each job.
    MdtestEasy,
    /// Files of 3901 bytes, one directory for all jobs.
    MdtestHard,
}

impl MetadataPreset {
    /// Entries of each directory where none are given.
    pub const ENTRIES: u32 = 10_000;

    const NAMES: [(&'static str, Self); 2] =
        [("mdtest-easy", Self::MdtestEasy), ("mdtest-hard", Self::MdtestHard)];

    /// The name by which users select it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, preset)| *preset == self).map_or("", |(name, _)| name)
    }

    /// The preset of a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, preset)| *preset)
    }

    /// Its tests, in the order of the phases of IO500.
    pub fn tests(self) -> Vec<MetadataTest> {
        match self {
            Self::MdtestEasy => vec![MetadataTest::Create, MetadataTest::Stat, MetadataTest::Unlink],
            Self::MdtestHard => vec![
                MetadataTest::CreateWrite,
                MetadataTest::Stat,
                MetadataTest::OpenReadClose,
                MetadataTest::Unlink,
            ],
        }
    }

    /// Its files have content in every phase.
    pub fn has_filled_entries(self) -> bool {
        self == Self::MdtestHard
    }

    /// Its directories.
    pub fn layout(self) -> DirectoryLayout {
        match self {
            Self::MdtestEasy => DirectoryLayout::Own,
            Self::MdtestHard => DirectoryLayout::Shared,
        }
    }
}

impl fmt::Display for MetadataPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
