//! The tree that a server serves: files and directories by number, names in directories.

use crate::wire::dos::attribute;
use crate::wire::{Completion, DosTime, Info};

/// Number of a file or directory within its volume; it stays the same while the file exists.
pub type Node = u32;

/// What a volume says: a failure is the completion code that the client gets.
pub type VolumeResult<T> = Result<T, Completion>;

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub node: Node,
    /// Its name as stored, at most 255 bytes; empty where it was found by number.
    pub name: Vec<u8>,
    /// True for a directory.
    pub directory: bool,
    /// Bytes of a file.
    pub size: u64,
    /// When it was created.
    pub created: DosTime,
    /// When it was modified last.
    pub modified: DosTime,
    /// DOS date it was used last.
    pub accessed: u16,
    /// True for a file that nobody may write, rename or delete.
    pub read_only: bool,
}

impl Entry {
    /// Attributes as DOS has them.
    pub const fn attributes(&self) -> u32 {
        match (self.directory, self.read_only) {
            (true, _) => attribute::DIRECTORY,
            (false, false) => attribute::ARCHIVE,
            (false, true) => attribute::ARCHIVE | attribute::READ_ONLY,
        }
    }

    /// The information block; sizes above 4 GiB are shown as the largest there is.
    pub fn info(&self, volume: u8) -> Info {
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
            name_space: 0,
        }
    }
}

/// What of a file is to change; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// See [`Entry::read_only`].
    pub read_only: Option<bool>,
    /// When it was modified last, in seconds since 1970.
    pub modified: Option<i64>,
    /// When it was used last, in seconds since 1970.
    pub accessed: Option<i64>,
}

/// VolumeSpace on a volume, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What is free.
    pub free: u64,
}

/// A volume, called by many connections at once. Names are those of clients and may be any bytes without `/` and NUL,
/// never `.` or `..`; numbers come from clients and may be any.
pub trait Volume: Send + Sync {
    /// The directory at the top.
    fn root(&self) -> Node;

    /// A file or directory; [`Completion::Failure`] when the number is none.
    fn entry(&self, node: Node) -> VolumeResult<Entry>;

    /// What has a name in a directory, or the only name that equals it but for case; [`Completion::Failure`] when
    /// nothing has.
    fn lookup(&self, directory: Node, name: &[u8]) -> VolumeResult<Entry>;

    /// Up to `limit` entries behind a cookie, 0 for the start, each with the cookie to go on behind it.
    fn list(&self, directory: Node, cookie: u64, limit: usize) -> VolumeResult<Vec<(u64, Entry)>>;

    /// Makes an empty file or directory; [`Completion::FileExists`] when the name is taken.
    fn create(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<Entry>;

    /// Removes a file or an empty directory by its stored name.
    fn remove(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<()>;

    /// Gives what has a stored name another one and another directory.
    fn rename(&self, from: Node, name: &[u8], to: Node, new_name: &[u8]) -> VolumeResult<()>;

    /// Reads into `buffer`; short only at the end of the file, 0 beyond it.
    fn read(&self, node: Node, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize>;

    /// Writes all of `data`, which is not empty; a gap behind the old end reads as zeros. `durable` means on disk before
    /// returning.
    fn write(&self, node: Node, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()>;

    /// The directory that holds a directory; the root is its own parent.
    fn parent(&self, directory: Node) -> VolumeResult<Node>;

    /// True when nothing on it can be changed.
    fn is_read_only(&self) -> bool;

    /// Changes what is known of a file or directory.
    fn change(&self, node: Node, change: &Change) -> VolumeResult<()>;

    /// Sets the size of a file.
    fn resize(&self, node: Node, size: u64) -> VolumeResult<()>;

    /// Returns when what was written to the file is on disk.
    fn commit(&self, node: Node) -> VolumeResult<()>;

    /// VolumeSpace on the volume.
    fn space(&self) -> VolumeResult<Space>;
}
