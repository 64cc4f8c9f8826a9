//! IOzone's automatic matrices of file and record sizes.

use std::fmt;
use std::str::FromStr;

use sharebench_model::units::ByteSize;

use super::{Test, record_tests};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A matrix that needs no list of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auto {
    /// IOzone's automatic mode of today: 126 cells of file and record size.
    #[default]
    Full,
    /// Its form of 1993: files of 1 to 16 MiB, records of 512 B to 8 KiB, written and read.
    Of1993,
}

impl Auto {
    const NAMES: [(&'static str, Self); 2] = [("full", Self::Full), ("1993", Self::Of1993)];

    /// File sizes, by doubling.
    pub(crate) fn file_sizes(self) -> Vec<ByteSize> {
        match self {
            Self::Full => doubling(64 * KIB, 512 * MIB),
            Self::Of1993 => doubling(MIB, 16 * MIB),
        }
    }

    /// Record sizes, by doubling.
    pub(crate) fn record_sizes(self) -> Vec<ByteSize> {
        match self {
            Self::Full => doubling(4 * KIB, 16 * MIB),
            Self::Of1993 => doubling(512, 8 * KIB),
        }
    }

    /// What IOzone does in this mode; the mix is its throughput mode's, mapping is an option of its own.
    pub(crate) fn tests(self) -> Vec<Test> {
        match self {
            Self::Full => {
                let tests = ["requests", "streams"].into_iter().flat_map(record_tests).flatten();
                tests.filter(|test| *test != Test::RandomMix).collect()
            }
            Self::Of1993 => vec![Test::Write, Test::Read],
        }
    }

    /// True if the matrix has this cell. No matrix has records larger than their file.
    pub(crate) fn holds(self, file: ByteSize, record: ByteSize) -> bool {
        // IOzone without its option to fill the matrix: small records would take too long in large files.
        self == Self::Of1993 || file.0 < 32 * MIB || record.0 >= 64 * KIB
    }
}

fn doubling(least: u64, most: u64) -> Vec<ByteSize> {
    std::iter::successors(Some(least), |size| Some(size * 2))
        .take_while(|size| *size <= most)
        .map(ByteSize)
        .collect()
}

impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES.iter().find(|(_, auto)| auto == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Auto {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::NAMES.into_iter().find(|(name, _)| *name == text).map(|(_, auto)| auto).ok_or_else(|| {
            format!("'{text}' is not a matrix; use full or 1993 (put targets before --auto, not after it)")
        })
    }
}
