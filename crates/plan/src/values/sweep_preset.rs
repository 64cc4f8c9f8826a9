//! Names of `--tests` that set more than the tests: phases of IO500.

use super::MetadataPreset;

/// A name of `--tests` that also sets the axes of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepPreset {
    /// The metadata phases of IO500 of one kind, with the axes of metadata tests.
    Metadata(MetadataPreset),
    /// All phases of IO500, with its score.
    Io500,
}

impl SweepPreset {
    /// Every name.
    pub const NAMES: [&'static str; 3] = ["mdtest-easy", "mdtest-hard", "io500"];

    /// The preset of a name; none if the name is no preset.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if name == "io500" { Some(Self::Io500) } else { MetadataPreset::from_name(name).map(Self::Metadata) }
    }
}
