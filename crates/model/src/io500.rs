//! The phases of IO500.

/// A phase of IO500 that counts towards its score. Names and order are those that the program prints; published outputs
/// are the source (docs/design/metadata.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Io500Phase {
    /// Each job writes a file of its own in large records.
    IorEasyWrite,
    /// Each job creates empty files in a directory of its own.
    MdtestEasyWrite,
    /// All jobs write one file, in interleaved records of 47,008 bytes.
    IorHardWrite,
    /// All jobs create files of 3,901 bytes in one directory.
    MdtestHardWrite,
    /// The files are found by their attributes.
    Find,
    /// The files of [`Self::IorEasyWrite`] are read.
    IorEasyRead,
    /// The attributes of the empty files are read.
    MdtestEasyStat,
    /// The file of [`Self::IorHardWrite`] is read.
    IorHardRead,
    /// The attributes of the files of 3,901 bytes are read.
    MdtestHardStat,
    /// The empty files are removed.
    MdtestEasyDelete,
    /// The files of 3,901 bytes are read.
    MdtestHardRead,
    /// The files of 3,901 bytes are removed.
    MdtestHardDelete,
}

impl Io500Phase {
    /// All phases, in the order in which IO500 runs them.
    pub const ALL: [Self; 12] = [
        Self::IorEasyWrite,
        Self::MdtestEasyWrite,
        Self::IorHardWrite,
        Self::MdtestHardWrite,
        Self::Find,
        Self::IorEasyRead,
        Self::MdtestEasyStat,
        Self::IorHardRead,
        Self::MdtestHardStat,
        Self::MdtestEasyDelete,
        Self::MdtestHardRead,
        Self::MdtestHardDelete,
    ];

    /// The name that IO500 prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IorEasyWrite => "ior-easy-write",
            Self::MdtestEasyWrite => "mdtest-easy-write",
            Self::IorHardWrite => "ior-hard-write",
            Self::MdtestHardWrite => "mdtest-hard-write",
            Self::Find => "find",
            Self::IorEasyRead => "ior-easy-read",
            Self::MdtestEasyStat => "mdtest-easy-stat",
            Self::IorHardRead => "ior-hard-read",
            Self::MdtestHardStat => "mdtest-hard-stat",
            Self::MdtestEasyDelete => "mdtest-easy-delete",
            Self::MdtestHardRead => "mdtest-hard-read",
            Self::MdtestHardDelete => "mdtest-hard-delete",
        }
    }

    /// True for a phase that is rated in bytes per second; the others are rated in operations per second.
    pub const fn is_bandwidth(self) -> bool {
        matches!(self, Self::IorEasyWrite | Self::IorHardWrite | Self::IorEasyRead | Self::IorHardRead)
    }
}
