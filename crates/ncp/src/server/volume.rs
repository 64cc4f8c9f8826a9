//! The interface between the server and the served directory tree.

use crate::wire::dos::attribute;
use crate::wire::{Completion, DosTime, Info};

/// Number of a file or directory within its volume; it is stable while the file exists.
pub type Node = u32;

/// A file or directory on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VolumeNode {
    /// Volume number.
    pub volume: u8,
    /// Node within the volume.
    pub node: Node,
}

/// Result of a volume operation; the error is the completion code of the reply.
pub type VolumeResult<T> = Result<T, Completion>;

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub node: Node,
    /// Its stored name, at most 255 bytes; empty if it was looked up by number.
    pub name: Vec<u8>,
    /// True for a directory.
    pub directory: bool,
    /// Bytes of a file.
    pub size: u64,
    /// Creation time.
    pub created: DosTime,
    /// Time of the last modification.
    pub modified: DosTime,
    /// DOS date of the last access.
    pub accessed: u16,
    /// True for a file that is protected from writing, renaming and deleting.
    pub read_only: bool,
    /// Other attributes that the volume stores, of [`STORED_ATTRIBUTES`].
    pub stored: u32,
}

/// Attributes that a volume stores in addition to read-only.
pub const STORED_ATTRIBUTES: u32 = attribute::HIDDEN
    | attribute::SYSTEM
    | attribute::EXECUTE_ONLY
    | attribute::RENAME_INHIBIT
    | attribute::DELETE_INHIBIT;

impl Entry {
    /// DOS attributes.
    pub const fn attributes(&self) -> u32 {
        let own = match (self.directory, self.read_only) {
            (true, _) => attribute::DIRECTORY,
            (false, false) => attribute::ARCHIVE,
            (false, true) => attribute::ARCHIVE | attribute::READ_ONLY,
        };
        own | self.stored
    }

    /// True when it has one of these attributes.
    pub const fn has(&self, attributes: u32) -> bool {
        self.stored & attributes != 0
    }

    /// The information block with the id of the name space that its name was created in; a size above 4 GiB is shown as the
    /// largest 32-bit value.
    pub fn info(&self, volume: u8, created_in: u8) -> Info {
        let size = u32::try_from(self.size).unwrap_or(u32::MAX);
        Info {
            space: size,
            attributes: self.attributes(),
            flags: self.attributes() as u16,
            size,
            total_size: size,
            streams: 1,
            created: self.created,
            creator: 0,
            modified: self.modified,
            modifier: 0,
            accessed: self.accessed,
            archived: DosTime::default(),
            archiver: 0,
            rights: 0x01FF,
            entry: self.node,
            dos_entry: self.node,
            volume: u32::from(volume),
            extended_size: 0,
            extended_count: 0,
            extended_key_size: 0,
            name_space: u32::from(created_in),
        }
    }
}

/// Changes of a file or directory; fields that are none stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// See [`Entry::read_only`].
    pub read_only: Option<bool>,
    /// See [`Entry::stored`].
    pub stored: Option<u32>,
    /// Creation time, in seconds since 1970.
    pub created: Option<i64>,
    /// Time of the last modification, in seconds since 1970.
    pub modified: Option<i64>,
    /// Time of the last access, in seconds since 1970.
    pub accessed: Option<i64>,
}

/// Space of a volume in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Total space.
    pub total: u64,
    /// Free space.
    pub free: u64,
    /// Files and directories that fit at most.
    pub total_entries: u64,
    /// Files and directories that can still be created.
    pub free_entries: u64,
}

/// A volume; many connections call it concurrently.
///
/// Names come from clients: any bytes except `/` and NUL, never `.` or `..`. Node numbers come from clients as well
/// and may be arbitrary. A volume may block; only the calling connection waits.
pub trait Volume: Send + Sync {
    /// The root directory.
    fn root(&self) -> Node;

    /// A file or directory; fails with [`Completion::Failure`] if the number is unknown.
    fn entry(&self, node: Node) -> VolumeResult<Entry>;

    /// Looks up a name in a directory: the exact name, or the only name that differs in case; fails with
    /// [`Completion::Failure`] if there is none.
    fn lookup(&self, directory: Node, name: &[u8]) -> VolumeResult<Entry>;

    /// Up to `limit` entries after a cookie, 0 for the start, each with the cookie at which to continue.
    fn list(&self, directory: Node, cookie: u64, limit: usize) -> VolumeResult<Vec<(u64, Entry)>>;

    /// Creates an empty file or directory; fails with [`Completion::FileExists`] if the name exists.
    fn create(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<Entry>;

    /// Removes a file or an empty directory by its stored name.
    fn remove(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<()>;

    /// Moves the entry with a stored name to another name and directory.
    fn rename(&self, from: Node, name: &[u8], to: Node, new_name: &[u8]) -> VolumeResult<()>;

    /// Reads into `buffer`; returns a short count only at the end of the file, and 0 beyond it.
    fn read(&self, node: Node, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize>;

    /// Writes all of `data`, which is not empty. A gap after the previous end reads as zeros. With `durable`, the
    /// data is on disk before the call returns.
    fn write(&self, node: Node, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()>;

    /// The directory of a file or directory, and its stored name there; fails if it has several names, or none any more. The
    /// root is its own directory, and its name is empty.
    fn place(&self, node: Node) -> VolumeResult<(Node, Vec<u8>)>;

    /// False for a volume with the DOS name space only: every call with the id of another name space is refused, and a
    /// new name must be 8.3.
    fn has_long_names(&self) -> bool {
        true
    }

    /// True when the volume cannot be changed.
    fn is_read_only(&self) -> bool;

    /// Changes attributes and timestamps of a file or directory.
    fn change(&self, node: Node, change: &Change) -> VolumeResult<()>;

    /// Sets the size of a file.
    fn resize(&self, node: Node, size: u64) -> VolumeResult<()>;

    /// Returns when the written data of the file is on disk.
    fn commit(&self, node: Node) -> VolumeResult<()>;

    /// Total and free space.
    fn space(&self) -> VolumeResult<Space>;
}
