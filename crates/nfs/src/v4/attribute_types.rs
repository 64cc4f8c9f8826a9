//! Types of attribute values (RFC 7530, 2.2; RFC 7531).

use crate::v4::item::{Item, Opaque, enumeration, message};
use crate::v4::list::List;
use crate::xdr::{Reader, Writer, XdrError};

/// Longest owner, group or name of an access control entry that is accepted.
pub const MAX_OWNER_NAME_BYTES: usize = 1024;
/// Maximum number of access control entries that are accepted.
pub const MAX_ACES: usize = 1024;
/// Longest component of a path that is accepted. A server decides which names it supports.
pub const MAX_COMPONENT_BYTES: usize = 1024;

/// A user or a group: `name@domain`, or a number as text.
pub type Owner<'a> = Opaque<'a, MAX_OWNER_NAME_BYTES>;
/// A name in a directory (`component4`).
pub type Component<'a> = Opaque<'a, MAX_COMPONENT_BYTES>;

enumeration! {
    /// Kind of an object (`nfs_ftype4`).
    FileType, "file type" {
        /// `NF4REG`.
        Regular = 1,
        /// `NF4DIR`.
        Directory = 2,
        /// `NF4BLK`.
        Block = 3,
        /// `NF4CHR`.
        Character = 4,
        /// `NF4LNK`.
        SymbolicLink = 5,
        /// `NF4SOCK`.
        Socket = 6,
        /// `NF4FIFO`.
        Fifo = 7,
        /// `NF4ATTRDIR`.
        AttributeDirectory = 8,
        /// `NF4NAMEDATTR`.
        NamedAttribute = 9,
    }
}

impl FileType {
    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regular => "a file",
            Self::Directory => "a directory",
            Self::Block => "a block device",
            Self::Character => "a character device",
            Self::SymbolicLink => "a symbolic link, which sharebench does not follow",
            Self::Socket => "a socket",
            Self::Fifo => "a named pipe",
            Self::AttributeDirectory | Self::NamedAttribute => "a named attribute",
        }
    }
}

message! {
    /// Identity of a file system (`fsid4`).
    FsId {
        /// Major number.
        major: u64,
        /// Minor number.
        minor: u64,
    }
}

message! {
    /// Numbers of a device (`specdata4`).
    SpecData {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    }
}

message! {
    /// A time since 1970 (`nfstime4`).
    Time {
        /// Seconds, in two's complement.
        seconds: u64,
        /// Nanoseconds.
        nanos: u32,
    }
}

/// A time to set (`settime4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The server's clock.
    ServerTime,
    /// The client's choice.
    ClientTime(Time),
}

impl Item<'_> for SetTime {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        match reader.u32()? {
            0 => Ok(Self::ServerTime),
            1 => Time::get(reader).map(Self::ClientTime),
            value => Err(XdrError::BadValue { field: "time_how4", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::ServerTime => writer.u32(0),
            Self::ClientTime(time) => {
                writer.u32(1);
                time.put(writer);
            }
        }
    }
}

message! {
    /// Some permission bits (RFC 8881, 6.2.5: `mode_masked4`).
    ModeMasked {
        /// Values of the bits.
        values: u32,
        /// Which bits are set.
        mask: u32,
    }
}

message! {
    /// Permission bits of a new object, and the umask (RFC 8275, 4: `mode_umask4`).
    ModeUmask {
        /// Permission bits.
        mode: u32,
        /// The client's umask.
        umask: u32,
    }
}

message! {
    /// An access control entry (`nfsace4`).
    Ace<'a> {
        /// `ACE4_*_ACE_TYPE`.
        kind: u32,
        /// Flags.
        flags: u32,
        /// Rights.
        rights: u32,
        /// Whom it concerns.
        who: Owner<'a>,
    }
}

message! {
    /// Where a file system is (`fs_location4`).
    FsLocation<'a> {
        /// Names or addresses of servers.
        servers: List<'a, Component<'a>, 64>,
        /// Path on these servers.
        path: List<'a, Component<'a>, 64>,
    }
}

message! {
    /// Where the file system of an object is (`fs_locations4`).
    FsLocations<'a> {
        /// Path of the file system on this server.
        root: List<'a, Component<'a>, 64>,
        /// Its locations.
        locations: List<'a, FsLocation<'a>, 64>,
    }
}
