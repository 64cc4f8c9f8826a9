//! The tree that a server serves: files and directories by number, names in the form of DOS.

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
    /// Its DOS name, at most 12 bytes in upper case; empty for the root.
    pub name: Vec<u8>,
    /// True for a directory.
    pub directory: bool,
    /// Bytes of a file.
    pub size: u64,
    /// When it was created.
    pub created: DosTime,
    /// When it was modified last.
    pub modified: DosTime,
}

impl Entry {
    /// Attributes as DOS has them.
    pub const fn attributes(&self) -> u32 {
        if self.directory { attribute::DIRECTORY } else { attribute::ARCHIVE }
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
            accessed: self.modified.date,
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

/// Room on a volume, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What is free.
    pub free: u64,
}

/// A volume. Names come checked: 8.3, upper case, without separators and wildcards; numbers come from clients and may
/// be any.
pub trait Volume {
    /// The directory at the top.
    fn root(&self) -> Node;

    /// A file or directory; [`Completion::Failure`] when the number is none.
    fn entry(&self, node: Node) -> VolumeResult<Entry>;

    /// What has a name in a directory; [`Completion::Failure`] when nothing has.
    fn lookup(&self, directory: Node, name: &[u8]) -> VolumeResult<Entry>;

    /// The first entry of a directory whose number is above `after`, which a client may have kept for long; the numbers
    /// put the entries in order.
    fn next(&self, directory: Node, after: Option<Node>) -> VolumeResult<Option<Entry>>;

    /// Makes an empty file or directory; the name is free.
    fn create(&mut self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<Entry>;

    /// Removes a file or an empty directory.
    fn remove(&mut self, node: Node) -> VolumeResult<()>;

    /// Gives a file or directory another name and parent; the name is free.
    fn rename(&mut self, node: Node, parent: Node, name: &[u8]) -> VolumeResult<()>;

    /// Appends up to `count` bytes of a file, fewer at its end.
    fn read(&mut self, node: Node, offset: u64, count: usize, out: &mut Vec<u8>) -> VolumeResult<()>;

    /// Writes all of `data`, which is not empty; a gap behind the old end reads as zeros.
    fn write(&mut self, node: Node, offset: u64, data: &[u8]) -> VolumeResult<()>;

    /// Sets the size of a file.
    fn resize(&mut self, node: Node, size: u64) -> VolumeResult<()>;

    /// Returns when what was written to the file is on disk.
    fn commit(&mut self, node: Node) -> VolumeResult<()>;

    /// Room on the volume.
    fn space(&self) -> Space;
}
