//! Presets of `sweep`: what users name with `--preset`.

use std::str::FromStr;

use super::MetadataPreset;

/// A preset of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepPreset {
    /// The metadata phases of IO500 of one kind, with the axes of metadata tests.
    Metadata(MetadataPreset),
    /// All phases of IO500, with its score.
    Io500,
}

impl FromStr for SweepPreset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "io500" {
            return Ok(Self::Io500);
        }
        text.parse().map(Self::Metadata)
    }
}
