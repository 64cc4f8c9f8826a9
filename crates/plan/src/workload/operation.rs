//! Operations of a transaction, as plans write them: `open`, `read 4KiB random x4`, `copy-to-server`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sharebench_model::units::parse_duration;

use super::Sizes;
use crate::values::{duration_text, nearest};

/// Where a request of a sequence starts in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestPattern {
    /// After the previous one; from the start again at the end of the file.
    #[default]
    Sequential,
    /// At a random position, uniformly distributed.
    Random,
}

/// The number of repetitions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// N times.
    Count(u32),
    /// Until as many bytes have moved as the file has.
    All,
}

/// Requests of a read or a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// Bytes of each; none for the block of the load.
    pub size: Option<Sizes>,
    /// Where they start.
    pub pattern: RequestPattern,
    /// How many.
    pub times: Times,
}

impl Requests {
    /// True if they need no length of a file: N requests, one after the other.
    pub(crate) fn fit_an_empty_file(&self) -> bool {
        self.pattern == RequestPattern::Sequential && matches!(self.times, Times::Count(_))
    }
}

/// The range of a file that a user locks. Both kinds have [`Self::BYTES`] bytes, and ranges are next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockRange {
    /// The first range of the file, which is the same for all users.
    Shared,
    /// A range of the user's own.
    Own,
}

impl LockRange {
    /// Bytes of a range, as in the sweeps of locks.
    pub const BYTES: u64 = 4096;

    /// The first byte of the range for the user of that number, from 0.
    pub fn offset(self, user: u32) -> u64 {
        match self {
            Self::Shared => 0,
            Self::Own => (u64::from(user) + 1) * Self::BYTES,
        }
    }
}

/// One operation on the file of the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Open it, for reading or for writing too.
    Open {
        /// For writing too.
        write: bool,
    },
    /// Open it for reading and writing and deny it to all others, once nobody has it open.
    OpenDenying,
    /// Open it for reading and writing with a request for a lease or an oplock.
    OpenLeased,
    /// Open it for reading with a request for a delegation.
    OpenDelegated,
    /// Create a new file next to it, which the following operations use.
    Create,
    /// Close what is open.
    Close,
    /// Ask for size and kind by name.
    Stat,
    /// List its directory.
    List,
    /// Give it another name, and at the next time its own again; a file made before takes its place.
    Rename,
    /// Remove the file made before.
    Delete,
    /// Set the size of what is open to what it is already.
    SetSize,
    /// Bring what was written to stable storage.
    Flush,
    /// Lock a range of what is open, once nobody else has locked it.
    Lock(LockRange),
    /// Unlock it.
    Unlock,
    /// Have the server report changes in its directory.
    Watch,
    /// Wait for the report of the change before it.
    Notify,
    /// Take the unit of the semaphore of all users, once nobody else has it.
    Wait,
    /// Return it.
    Signal,
    /// Pause for this long.
    Think(Duration),
    /// Query the free space.
    Space,
    /// Log off and on again.
    Connect,
    /// Read.
    Read(Requests),
    /// Write.
    Write(Requests),
    /// Open or make the user's copy of it, write all of it by the block of the load, close.
    CopyToServer,
    /// Open it, read all of it by the block of the load, close.
    CopyFromServer,
}

/// Longest pause within a transaction.
const MAX_THINK: Duration = Duration::from_secs(60);

const NAMES: [&str; 22] = [
    "open",
    "create",
    "close",
    "stat",
    "list",
    "rename",
    "delete",
    "set-size",
    "flush",
    "lock",
    "unlock",
    "watch",
    "notify",
    "wait",
    "signal",
    "think",
    "space",
    "connect",
    "read",
    "write",
    "copy-to-server",
    "copy-from-server",
];

impl Operation {
    /// The first word in plans.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } | Self::OpenDenying | Self::OpenLeased | Self::OpenDelegated => "open",
            Self::Create => "create",
            Self::Close => "close",
            Self::Stat => "stat",
            Self::List => "list",
            Self::Rename => "rename",
            Self::Delete => "delete",
            Self::SetSize => "set-size",
            Self::Flush => "flush",
            Self::Lock(_) => "lock",
            Self::Unlock => "unlock",
            Self::Watch => "watch",
            Self::Notify => "notify",
            Self::Wait => "wait",
            Self::Signal => "signal",
            Self::Think(_) => "think",
            Self::Space => "space",
            Self::Connect => "connect",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::CopyToServer => "copy-to-server",
            Self::CopyFromServer => "copy-from-server",
        }
    }

    /// True when it needs no file of the data set.
    pub fn is_fileless(&self) -> bool {
        matches!(self, Self::Space | Self::Connect | Self::Think(_) | Self::Wait | Self::Signal)
    }

    /// True when it opens a file of the transaction.
    pub fn opens(&self) -> bool {
        matches!(
            self,
            Self::Open { .. } | Self::OpenDenying | Self::OpenLeased | Self::OpenDelegated | Self::Create
        )
    }

    /// True when it requests what a server grants to a session, so that each user needs a session of its own.
    pub fn needs_own_session(&self) -> bool {
        matches!(
            self,
            Self::Lock(_)
                | Self::OpenDenying
                | Self::OpenLeased
                | Self::OpenDelegated
                | Self::Watch
                | Self::Wait
        )
    }

    /// True when it changes a name in the directory of the file, which the server reports to those who watch it.
    pub fn changes_names(&self) -> bool {
        matches!(self, Self::Create | Self::Rename | Self::Delete)
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(size) = &self.size {
            write!(f, " {size}")?;
        }
        if self.pattern == RequestPattern::Random {
            f.write_str(" random")?;
        }
        match self.times {
            Times::Count(1) => Ok(()),
            Times::Count(n) => write!(f, " x{n}"),
            Times::All => f.write_str(" all"),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Open { write: true } => f.write_str(" write"),
            Self::OpenDenying => f.write_str(" deny"),
            Self::OpenLeased => f.write_str(" leased"),
            Self::OpenDelegated => f.write_str(" delegated"),
            Self::Lock(LockRange::Own) => f.write_str(" own"),
            Self::Think(time) => write!(f, " {}", duration_text(*time)),
            Self::Read(requests) | Self::Write(requests) => requests.fmt(f),
            _ => Ok(()),
        }
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let bare = |operation: Self| match rest.first() {
            Some(word) => Err(format!("'{word}': {name} takes no arguments")),
            None => Ok(operation),
        };
        match name {
            "open" => match rest.as_slice() {
                [] => Ok(Self::Open { write: false }),
                ["write"] => Ok(Self::Open { write: true }),
                ["deny"] => Ok(Self::OpenDenying),
                ["leased"] => Ok(Self::OpenLeased),
                ["delegated"] => Ok(Self::OpenDelegated),
                _ => Err(format!(
                    "'{text}': write 'open', 'open write', 'open deny', 'open leased' or 'open delegated'"
                )),
            },
            "lock" => match rest.as_slice() {
                [] => Ok(Self::Lock(LockRange::Shared)),
                ["own"] => Ok(Self::Lock(LockRange::Own)),
                _ => Err(format!("'{text}': write 'lock' (the range of all users) or 'lock own'")),
            },
            "unlock" => bare(Self::Unlock),
            "think" => think(text, &rest),
            "read" => requests(text, &rest).map(Self::Read),
            "write" => requests(text, &rest).map(Self::Write),
            "create" => bare(Self::Create),
            "close" => bare(Self::Close),
            "stat" => bare(Self::Stat),
            "list" => bare(Self::List),
            "rename" => bare(Self::Rename),
            "delete" => bare(Self::Delete),
            "set-size" => bare(Self::SetSize),
            "flush" => bare(Self::Flush),
            "space" => bare(Self::Space),
            "connect" => bare(Self::Connect),
            "copy-to-server" => bare(Self::CopyToServer),
            "copy-from-server" => bare(Self::CopyFromServer),
            "watch" => bare(Self::Watch),
            "notify" => bare(Self::Notify),
            "wait" => bare(Self::Wait),
            "signal" => bare(Self::Signal),
            _ => Err(match nearest(name, &NAMES) {
                Some(near) => format!("'{name}' is no operation; did you mean '{near}'?"),
                None => format!("'{name}' is no operation; known are {}", NAMES.join(", ")),
            }),
        }
    }
}

fn think(text: &str, words: &[&str]) -> Result<Operation, String> {
    let [time] = words else { return Err(format!("'{text}': write the pause, such as 'think 5ms'")) };
    match parse_duration(time) {
        Ok(time) if time <= MAX_THINK => Ok(Operation::Think(time)),
        Ok(_) => Err(format!("'{text}': the pause is longer than {}", duration_text(MAX_THINK))),
        Err(error) => Err(format!("'{text}': {error}")),
    }
}

fn requests(text: &str, words: &[&str]) -> Result<Requests, String> {
    let mut found = Requests { size: None, pattern: RequestPattern::Sequential, times: Times::Count(1) };
    for word in words {
        let count = word.strip_prefix('x').map(str::parse::<u32>);
        match (*word, count) {
            ("sequential", _) => found.pattern = RequestPattern::Sequential,
            ("random", _) => found.pattern = RequestPattern::Random,
            ("all", _) => found.times = Times::All,
            (_, Some(Ok(n @ 1..=1_000_000))) => found.times = Times::Count(n),
            (_, Some(_)) => return Err(format!("'{word}' in '{text}': write x1 to x1000000, or all")),
            (size, None) if found.size.is_none() => found.size = Some(size.parse()?),
            (other, None) => return Err(format!("'{other}' in '{text}': there is a size already")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_survive_a_round_trip() {
        for text in [
            "open",
            "open write",
            "open deny",
            "open leased",
            "open delegated",
            "lock",
            "lock own",
            "unlock",
            "think 5ms",
            "create",
            "set-size",
            "connect",
            "read",
            "read 4KiB",
            "read 4KiB random x4",
            "write 1KiB:80,10KiB:20 all",
            "copy-from-server",
        ] {
            assert_eq!(text.parse::<Operation>().map(|operation| operation.to_string()), Ok(text.to_owned()));
        }
        let parsed = |name: &str| if name == "think" { "think 1s" } else { name }.parse::<Operation>();
        assert!(NAMES.iter().all(|name| parsed(name).is_ok_and(|found| found.name() == *name)));
    }

    #[test]
    fn ranges_are_next_to_each_other() {
        let own = [0, 1, 2].map(|user| LockRange::Own.offset(user));
        assert_eq!((LockRange::Shared.offset(7), own), (0, [4096, 8192, 12_288]));
    }

    #[test]
    fn what_is_no_operation_says_what_to_write() {
        for (text, said) in [
            ("raed", "did you mean 'read'?"),
            ("", "known are open"),
            ("open twice", "'open deny', 'open leased' or 'open delegated'"),
            ("close it", "close takes no arguments"),
            ("read x0", "write x1 to x1000000"),
            ("read 4KiB 8KiB", "there is a size already"),
            ("read much", "is not a size"),
            ("lock all", "'lock own'"),
            ("unlock own", "unlock takes no arguments"),
            ("think", "such as 'think 5ms'"),
            ("think 5", "has no unit"),
            ("think 2m", "longer than 60s"),
            ("notify own", "notify takes no arguments"),
            ("wait 1s", "wait takes no arguments"),
        ] {
            let error = text.parse::<Operation>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
