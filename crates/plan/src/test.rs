//! Tests: what a cell does to its file.

use std::fmt;
use std::str::FromStr;

/// Order in which a test visits the records of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// First to last.
    Sequential,
    /// Every record once, in random order.
    Random,
}

/// What a cell does to its file, in IOzone's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// Writes a new file, first to last record.
    Write,
    /// Writes an existing file, first to last record.
    Rewrite,
    /// Reads a file, after the client's cache of it was dropped where that is possible.
    Read,
    /// Reads a file that was read just before.
    Reread,
    /// Reads every record once, in random order.
    RandomRead,
    /// Writes every record once, in random order.
    RandomWrite,
}

impl Test {
    /// Every test, in IOzone's order.
    pub const ALL: [Self; 6] =
        [Self::Write, Self::Rewrite, Self::Read, Self::Reread, Self::RandomRead, Self::RandomWrite];

    /// The name in plans, tables and stores.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Reread => "reread",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
        }
    }

    /// True when the test writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Rewrite | Self::RandomWrite)
    }

    /// Order of its records.
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::RandomRead | Self::RandomWrite => Pattern::Random,
            _ => Pattern::Sequential,
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|test| test.name() == text).ok_or_else(|| {
            let meant = crate::mistake::nearest(text, &known)
                .map_or(String::new(), |name| format!("did you mean '{name}'? "));
            format!("'{text}' is no test; {meant}known are {}", known.join(", "))
        })
    }
}
