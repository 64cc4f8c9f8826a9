//! What the measured time of a cell includes in addition to its operations.

use std::fmt;
use std::str::FromStr;

/// A step after a pass that belongs to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Included {
    /// Closing the file (IOzone `-c`).
    Close,
    /// Bringing what was written to stable storage (IOzone `-e`).
    Flush,
}

impl Included {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Close, Self::Flush];

    /// The name in plans and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Flush => "flush",
        }
    }
}

impl fmt::Display for Included {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Included {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || format!("'{text}' is not part of the measured time; known are close and flush");
        Self::ALL.into_iter().find(|included| included.name() == text).ok_or_else(known)
    }
}
