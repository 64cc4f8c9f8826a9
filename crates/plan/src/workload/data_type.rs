//! What files hold: the eight data types of Dynameasure.

use std::fmt;
use std::str::FromStr;

/// What kind of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataKind {
    /// Records of a database: counters, small numbers, blanks.
    Data,
    /// Words.
    Text,
    /// A picture without compression: neighbours are alike.
    Image,
    /// A program.
    Binary,
}

/// Kind of data, plain or compressed. Compressed data of every kind looks alike: like noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataType {
    /// What it is.
    pub kind: DataKind,
    /// True if the data is compressed already, so that it cannot be compressed further.
    pub compressed: bool,
}

impl DataType {
    /// Every type with its name in plans.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("data", Self { kind: DataKind::Data, compressed: false }),
        ("data-compressed", Self { kind: DataKind::Data, compressed: true }),
        ("text", Self { kind: DataKind::Text, compressed: false }),
        ("text-compressed", Self { kind: DataKind::Text, compressed: true }),
        ("image", Self { kind: DataKind::Image, compressed: false }),
        ("image-compressed", Self { kind: DataKind::Image, compressed: true }),
        ("binary", Self { kind: DataKind::Binary, compressed: false }),
        ("binary-compressed", Self { kind: DataKind::Binary, compressed: true }),
    ];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

impl Default for DataType {
    /// Data that can be neither compressed nor deduplicated.
    fn default() -> Self {
        Self { kind: DataKind::Data, compressed: true }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DataType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES.map(|(name, _)| name);
        Self::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, found)| *found)
            .ok_or_else(|| format!("'{text}' is no type of data; known are {}", known.join(", ")))
    }
}
