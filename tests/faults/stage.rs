//! What stands around a run that a fault strikes.

use sharebench_tests::{Disk, Failing, Need};

/// What stands around a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Only the server.
    Plain,
    /// A proxy before the server.
    Proxy,
    /// System calls of the server can fail.
    FailingServer,
    /// System calls of sharebench can fail.
    FailingClient,
    /// The server has a file system of few bytes.
    SmallServer,
    /// The server has a file system with a quota of few bytes.
    Quota,
    /// The server has a file system that can break.
    Breakable,
    /// The results database is on a file system of few bytes, `book` of the working directory.
    SmallBook,
    /// The server is ours, as a user whom permissions bind.
    NobodyServes,
    /// The server is ours, inside the suite, with limits that the program has no flags for.
    Within,
    /// Nobody reads sharebench's standard error.
    Deaf,
    /// Sharebench may use little memory, and its load wants much.
    LittleMemory,
}

/// Bytes of small file systems and of quotas.
const SMALL: u64 = 8 << 20;

impl Stage {
    /// What the machine must have for it.
    pub fn needs(self) -> &'static [Need] {
        match self {
            Self::FailingServer | Self::FailingClient => &Failing::NEEDS,
            Self::SmallServer | Self::SmallBook => &[Need::Root, Need::Program("unshare")],
            Self::Quota => Disk::QUOTA,
            Self::Breakable => Disk::EXT4,
            Self::Deaf => &[Need::Program("bash")],
            Self::LittleMemory | Self::NobodyServes | Self::Within | Self::Plain | Self::Proxy => &[],
        }
    }

    /// A file system for the server, where the stage has one.
    pub fn disk(self) -> Option<Disk> {
        match self {
            Self::SmallServer => Some(Disk::Memory(SMALL)),
            Self::Quota => Some(Disk::with_quota(SMALL).unwrap()),
            Self::Breakable => Some(Disk::ext4().unwrap()),
            _ => None,
        }
    }
}
