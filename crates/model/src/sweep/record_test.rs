//! Tests of records: what a cell does to its file.

use std::fmt;
use std::str::FromStr;

/// Order in which a test visits the records of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// First to last.
    Sequential,
    /// Last to first.
    Backward,
    /// Every record once, in random order.
    Random,
    /// Every Nth record from the first one, then from the second, until every record was accessed once.
    Stride,
    /// The first record, as often as the file has records.
    OneSpot,
}

/// The way a test's application takes to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// One request per record.
    Request,
    /// A buffered stream like that of C's stdio: requests of the size of the stream's buffer.
    Stream,
    /// Copies from and to a shared memory mapping of the file.
    Mapping,
}

/// What a test does to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads a share of the records and writes the others.
    Mix,
}

/// In what state a pass finds its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It is new and empty.
    Fresh,
    /// It is complete. Caches are left as they are.
    AsItIs,
    /// It is complete, and dropped from the client's cache where that is possible.
    Cold,
    /// It was read just before.
    JustRead,
}

/// All there is to know of a test.
struct Form(&'static str, Direction, Pattern, Access, Start, &'static str);

macro_rules! tests {
    ($($variant:ident: $name:literal $direction:ident $pattern:ident $access:ident $start:ident $about:literal;)+) => {
        /// What a cell does to its file, in IOzone's terms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Test {
            $(#[doc = $about] $variant,)+
        }

        impl Test {
            /// Every test, in IOzone's order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            const fn form(self) -> Form {
                match self {
                    $(Self::$variant => Form(
                        $name,
                        Direction::$direction,
                        Pattern::$pattern,
                        Access::$access,
                        Start::$start,
                        $about,
                    ),)+
                }
            }
        }
    };
}

tests! {
    Write: "write" Write Sequential Request Fresh "Writes a new file, first to last record.";
    Rewrite: "rewrite" Write Sequential Request AsItIs "Writes an existing file, first to last record.";
    Read: "read" Read Sequential Request Cold
        "Reads a file, after the client's cache of it was dropped where that is possible.";
    Reread: "reread" Read Sequential Request JustRead "Reads a file that was read just before.";
    RandomRead: "random-read" Read Random Request AsItIs "Reads every record once, in random order.";
    RandomWrite: "random-write" Write Random Request AsItIs "Writes every record once, in random order.";
    RandomMix: "random-mix" Mix Random Request AsItIs
        "Visits every record once, in random order; reads a share of them and writes the others.";
    BackwardRead: "backward-read" Read Backward Request AsItIs "Reads every record, last to first.";
    RecordRewrite: "record-rewrite" Write OneSpot Request AsItIs
        "Writes the first record again and again, as often as the file has records.";
    StrideRead: "stride-read" Read Stride Request AsItIs
        "Reads every Nth record, pass after pass, until each record was read once.";
    Fwrite: "fwrite" Write Sequential Stream Fresh "Writes a new file through a buffered stream.";
    Frewrite: "frewrite" Write Sequential Stream AsItIs "Writes an existing file through a buffered stream.";
    Fread: "fread" Read Sequential Stream Cold
        "Reads a file through a buffered stream, after the client's cache of it was dropped where that is possible.";
    Freread: "freread" Read Sequential Stream JustRead
        "Reads a file through a buffered stream that was read just before.";
    MmapWrite: "mmap-write" Write Sequential Mapping Fresh
        "Writes a new file of full length through a memory mapping, first to last record.";
    MmapRewrite: "mmap-rewrite" Write Sequential Mapping AsItIs
        "Writes an existing file through a memory mapping, first to last record.";
    MmapRead: "mmap-read" Read Sequential Mapping Cold
        "Reads a file through a memory mapping, after the client's cache of it was dropped where that is possible.";
    MmapReread: "mmap-reread" Read Sequential Mapping JustRead
        "Reads a file through a memory mapping that was read just before.";
    MmapRandomRead: "mmap-random-read" Read Random Mapping AsItIs
        "Reads every record once through a memory mapping, in random order.";
    MmapRandomWrite: "mmap-random-write" Write Random Mapping AsItIs
        "Writes every record once through a memory mapping, in random order.";
}

impl Test {
    /// The default tests of a sweep.
    pub const USUAL: [Self; 6] =
        [Self::Write, Self::Rewrite, Self::Read, Self::Reread, Self::RandomRead, Self::RandomWrite];

    /// The name in plans, tables and stores.
    pub const fn name(self) -> &'static str {
        self.form().0
    }

    /// Reads, writes or both.
    pub const fn direction(self) -> Direction {
        self.form().1
    }

    /// Order of its records.
    pub const fn pattern(self) -> Pattern {
        self.form().2
    }

    /// Its way to the file.
    pub const fn access(self) -> Access {
        self.form().3
    }

    /// The state in which each of its passes finds the file.
    pub const fn start(self) -> Start {
        self.form().4
    }

    /// One sentence on it.
    pub const fn about(self) -> &'static str {
        self.form().5
    }

    /// True when the test writes, if only some of its records.
    pub const fn writes(self) -> bool {
        matches!(self.direction(), Direction::Write | Direction::Mix)
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
        let found = Self::ALL.into_iter().find(|test| test.name() == text);
        found.ok_or_else(|| format!("'{text}' is not a test of records"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_the_tests_do() {
        for test in Test::ALL {
            let name = test.name();
            assert_eq!(name.starts_with("mmap"), test.access() == Access::Mapping, "{name}");
            assert_eq!(name.starts_with('f'), test.access() == Access::Stream, "{name}");
            assert_eq!(name.contains("random"), test.pattern() == Pattern::Random, "{name}");
            assert_eq!(name.contains("write") || test == Test::RandomMix, test.writes(), "{name}");
            assert_eq!(name.ends_with("reread"), test.start() == Start::JustRead, "{name}");
        }
    }
}
