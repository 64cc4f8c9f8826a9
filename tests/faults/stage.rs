//! The environment of a run that a fault is injected into.

use sharebench_tests::{Disk, Failing, Need};

/// Environment of a run.
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
    /// The server has a small file system.
    SmallServer,
    /// The server has a file system with a small quota.
    Quota,
    /// The server has a file system that can break.
    Breakable,
    /// The results database is on a small file system, `book` in the working directory.
    SmallDatabaseDisk,
    /// The embedded server runs as an unprivileged user.
    NobodyServes,
    /// The embedded server runs inside the suite, with limits for which the program has no flags.
    Within,
    /// The standard error of sharebench is closed.
    ClosedStderr,
    /// Sharebench has a memory limit that its load exceeds.
    LittleMemory,
}

/// Bytes of small file systems and quotas.
const SMALL: u64 = 8 << 20;

impl Stage {
    /// Returns the requirements of the machine.
    pub fn needs(self) -> &'static [Need] {
        match self {
            Self::FailingServer | Self::FailingClient => &Failing::NEEDS,
            Self::SmallServer | Self::SmallDatabaseDisk => &[Need::Root, Need::Program("unshare")],
            Self::Quota => Disk::QUOTA,
            Self::Breakable => Disk::EXT4,
            Self::ClosedStderr => &[Need::Program("bash")],
            Self::LittleMemory | Self::NobodyServes | Self::Within | Self::Plain | Self::Proxy => &[],
        }
    }

    /// Creates the file system of the server, if the stage has one.
    pub fn disk(self) -> Option<Disk> {
        match self {
            Self::SmallServer => Some(Disk::Memory(SMALL)),
            Self::Quota => Some(Disk::with_quota(SMALL).unwrap()),
            Self::Breakable => Some(Disk::ext4().unwrap()),
            _ => None,
        }
    }
}
