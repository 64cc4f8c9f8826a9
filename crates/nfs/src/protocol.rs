//! Names and limits of NFS version 3 (RFC 1813): programs, procedures, file handles.

use crate::xdr::{Reader, Writer, XdrError};

/// NFS (RFC 1813, 3).
pub const NFS_PROGRAM: u32 = 100_003;
/// The version that this crate implements.
pub const NFS_VERSION: u32 = 3;
/// MOUNT (RFC 1813, 5).
pub const MOUNT_PROGRAM: u32 = 100_005;
/// Its version for NFSv3.
pub const MOUNT_VERSION: u32 = 3;
/// The port mapper (RFC 1833, 3).
pub const PORTMAP_PROGRAM: u32 = 100_000;
/// Its version with `GETPORT`.
pub const PORTMAP_VERSION: u32 = 2;

/// Largest READ and WRITE over UDP, as of Linux: with its headers it fits into one datagram of at most 65,507 bytes.
pub const MAX_DATAGRAM_TRANSFER: u32 = 32 << 10;

/// Longest file handle (RFC 1813, 2.4: `NFS3_FHSIZE`).
pub const MAX_HANDLE_BYTES: usize = 64;
/// Longest name that is accepted from a peer.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest path of `MNT` (RFC 1813, 5.1.4: `MNTPATHLEN`).
pub const MAX_PATH_BYTES: usize = 1024;

/// Procedures of NFSv3 (RFC 1813, 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the specification's")]
pub enum Procedure {
    Null = 0,
    GetAttr = 1,
    SetAttr = 2,
    Lookup = 3,
    Access = 4,
    ReadLink = 5,
    Read = 6,
    Write = 7,
    Create = 8,
    MkDir = 9,
    SymLink = 10,
    MkNod = 11,
    Remove = 12,
    RmDir = 13,
    Rename = 14,
    Link = 15,
    ReadDir = 16,
    ReadDirPlus = 17,
    FsStat = 18,
    FsInfo = 19,
    PathConf = 20,
    Commit = 21,
}

impl Procedure {
    /// All procedures, in the order of their numbers.
    pub const ALL: [Self; 22] = [
        Self::Null,
        Self::GetAttr,
        Self::SetAttr,
        Self::Lookup,
        Self::Access,
        Self::ReadLink,
        Self::Read,
        Self::Write,
        Self::Create,
        Self::MkDir,
        Self::SymLink,
        Self::MkNod,
        Self::Remove,
        Self::RmDir,
        Self::Rename,
        Self::Link,
        Self::ReadDir,
        Self::ReadDirPlus,
        Self::FsStat,
        Self::FsInfo,
        Self::PathConf,
        Self::Commit,
    ];

    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Its name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::GetAttr => "GETATTR",
            Self::SetAttr => "SETATTR",
            Self::Lookup => "LOOKUP",
            Self::Access => "ACCESS",
            Self::ReadLink => "READLINK",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::MkDir => "MKDIR",
            Self::SymLink => "SYMLINK",
            Self::MkNod => "MKNOD",
            Self::Remove => "REMOVE",
            Self::RmDir => "RMDIR",
            Self::Rename => "RENAME",
            Self::Link => "LINK",
            Self::ReadDir => "READDIR",
            Self::ReadDirPlus => "READDIRPLUS",
            Self::FsStat => "FSSTAT",
            Self::FsInfo => "FSINFO",
            Self::PathConf => "PATHCONF",
            Self::Commit => "COMMIT",
        }
    }
}

/// A file handle of at most `MAX` bytes, stored without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle<const MAX: usize> {
    len: u8,
    bytes: [u8; MAX],
}

/// A file handle of NFSv3 (RFC 1813, 2.3.3: `nfs_fh3`).
pub type FileHandle = Handle<MAX_HANDLE_BYTES>;

impl<const MAX: usize> Handle<MAX> {
    /// A handle of these bytes; none if there are more than `MAX`.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self { len: u8::try_from(bytes.len()).ok()?, bytes: [0; MAX] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Decodes a handle.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let bytes = reader.opaque("file handle", MAX)?;
        Self::new(bytes).ok_or(XdrError::BadValue { field: "file handle", value: bytes.len() as u32 })
    }

    /// Decodes `post_op_fh3` (RFC 1813, 2.6).
    pub fn get_optional(reader: &mut Reader<'_>) -> Result<Option<Self>, XdrError> {
        reader.boolean("handle follows")?.then(|| Self::get(reader)).transpose()
    }

    /// Encodes the handle.
    #[inline]
    pub fn put(&self, writer: &mut Writer) {
        writer.opaque(self.as_bytes());
    }
}

/// A handle of no bytes, which no server hands out.
impl<const MAX: usize> Default for Handle<MAX> {
    fn default() -> Self {
        Self { len: 0, bytes: [0; MAX] }
    }
}

impl<const MAX: usize> std::fmt::Debug for Handle<MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// How durably data are written (RFC 1813, 3.3.7: `stable_how`), in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StableHow {
    /// In memory until `COMMIT`.
    Unstable = 0,
    /// Data on stable storage.
    DataSync = 1,
    /// Data and attributes on stable storage.
    FileSync = 2,
}

impl StableHow {
    /// Name in RFC 1813.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unstable => "UNSTABLE",
            Self::DataSync => "DATA_SYNC",
            Self::FileSync => "FILE_SYNC",
        }
    }

    /// Decodes it.
    #[inline]
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        match reader.u32()? {
            0 => Ok(Self::Unstable),
            1 => Ok(Self::DataSync),
            2 => Ok(Self::FileSync),
            value => Err(XdrError::BadValue { field: "stable_how", value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_are_numbered_as_in_rfc_1813_section_3_3() {
        for (number, procedure) in Procedure::ALL.into_iter().enumerate() {
            assert_eq!(procedure as usize, number);
            assert_eq!(Procedure::from_number(number as u32), Some(procedure));
        }
        assert_eq!(Procedure::from_number(22), None);
    }

    #[test]
    fn a_handle_above_64_bytes_is_an_error() {
        assert!(FileHandle::new(&[1; 65]).is_none());
        let mut writer = Writer::default();
        FileHandle::new(b"abcde").unwrap().put(&mut writer);
        assert_eq!(writer.as_slice(), b"\0\0\0\x05abcde\0\0\0");
        let handle = FileHandle::get(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!(handle.as_bytes(), b"abcde");
    }
}
