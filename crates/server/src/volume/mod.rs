//! The tree that every front end serves: one trait for SMB, NFS and NCP.

pub(crate) mod change_reports;
pub(crate) mod device;
pub(crate) mod directory;
pub(crate) mod error;
pub(crate) mod memory;
pub(crate) mod name;
pub(crate) mod stored_data;
pub(crate) mod view;

use std::time::SystemTime;

use crate::volume::error::{VolumeError, VolumeResult};
use crate::volume::name::fold_case;
use crate::volume::stored_data::StoredData;

/// Number of a file or directory. It is stable while the object exists, also across renames, and is never reused for
/// another object within the life of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// The root directory of every volume.
pub const ROOT: NodeId = NodeId(1);

/// Attributes of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// The node.
    pub node: NodeId,
    /// Number of the object for clients. It is the same after a restart if the volume outlives it.
    pub file_id: u64,
    /// True for a directory.
    pub directory: bool,
    /// True for a symbolic link, which is never a directory.
    pub link: bool,
    /// Length in bytes; 0 for directories, the length of the target for links.
    pub size: u64,
    /// Allocated bytes.
    pub allocated: u64,
    /// Permission bits (lower 12 bits of a Unix mode).
    pub mode: u32,
    /// Unix owner.
    pub uid: u32,
    /// Unix group.
    pub gid: u32,
    /// Number of names.
    pub links: u32,
    /// Last access.
    pub accessed: SystemTime,
    /// Last change of content.
    pub modified: SystemTime,
    /// Last change of attributes.
    pub changed: SystemTime,
    /// Creation if known, otherwise the oldest of the other times.
    pub created: SystemTime,
    /// Number that differs after every change of content, names or attributes. It only grows while the volume exists.
    pub change: u64,
}

/// Attributes to change; `None` leaves one as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// New length.
    pub size: Option<u64>,
    /// New permission bits.
    pub mode: Option<u32>,
    /// New owner.
    pub uid: Option<u32>,
    /// New group.
    pub gid: Option<u32>,
    /// New access time.
    pub accessed: Option<SystemTime>,
    /// New modification time.
    pub modified: Option<SystemTime>,
    /// New time of the last change of attributes, which a volume may ignore.
    pub changed: Option<SystemTime>,
}

/// What DOS knows of a file and Unix does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DosAttributes {
    /// Attribute bits: hidden, system and others, without those that a mode expresses.
    pub bits: u32,
    /// Creation time that a client has set, if it is not in [`Attributes::created`].
    pub created: Option<SystemTime>,
}

/// One name of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Last path component.
    pub name: String,
    /// Node that it names.
    pub attributes: Attributes,
    /// Cookie for [`Volume::list`] to continue after this entry; never 0.
    pub cookie: u64,
}

/// What [`Volume::seek`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekTarget {
    /// The next byte that may differ from zero.
    Data,
    /// The next byte of a hole; the end of the file is one.
    Hole,
}

/// The directories whose listings show a node, for [`Volume::listed_in`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedIn {
    /// The node has no name any longer.
    Nowhere,
    /// This directory only.
    Directory(NodeId),
    /// Several directories, or the volume does not know.
    Unknown,
}

/// A range of a file for [`Volume::copy`] and [`Volume::clone_range`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRange {
    /// The file.
    pub file: NodeId,
    /// First byte.
    pub offset: u64,
}

/// Bytes that identify a node also after a restart; see [`Volume::persistent_id`].
pub type PersistentId = [u8; 28];

/// Bytes that [`Volume::copy`] transfers at a time.
const COPY_BYTES: usize = 1 << 20;

/// Space on a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpace {
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Maximum number of files.
    pub total_files: u64,
    /// Number of files that can still be created.
    pub free_files: u64,
}

/// A tree of files and directories that front ends serve.
///
/// A volume is shared by all connections of all front ends, so that every method takes `&self` and is safe to call
/// concurrently. All calls are synchronous and may block as long as the storage does; a front end with an asynchronous
/// runtime calls a volume that blocks on other threads ([`Self::never_blocks`]). Objects are named by [`NodeId`], not
/// by path, because NFS handles must survive renames. No call leaves the tree: names are single components, and
/// symbolic links are not followed. A volume that serves links shows them as nodes of their own, for front ends whose
/// clients follow them; the other front ends get a view without links.
pub trait Volume: Send + Sync {
    /// Attributes of a node.
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes>;

    /// Attributes of `name` in `directory`. The front end resolves `..` with [`Self::parent`].
    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes>;

    /// The stored name and the node of the only name in `directory` that equals `name` except for case;
    /// [`VolumeError::NotFound`] if there is none or more than one. Front ends whose clients ignore case call it after
    /// [`Self::lookup`] has found nothing.
    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        let folded = fold_case(name);
        let mut cookie = 0;
        let mut found = None;
        loop {
            let page = self.list(directory, cookie, 1024)?;
            let Some(last) = page.last() else { return found.ok_or(VolumeError::NotFound) };
            cookie = last.cookie;
            for entry in page {
                if fold_case(&entry.name) == folded {
                    if found.is_some() {
                        // Two names that differ only in case: choosing one of them could read or overwrite the
                        // wrong file.
                        return Err(VolumeError::NotFound);
                    }
                    found = Some((entry.name, entry.attributes));
                }
            }
        }
    }

    /// The directory that holds a directory; the root is its own parent.
    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId>;

    /// The directories whose listings show a node, and so its size and times.
    fn listed_in(&self, _node: NodeId) -> ListedIn {
        ListedIn::Unknown
    }

    /// A directory that holds a node, and its name there; the root is in itself and has no name.
    /// [`VolumeError::Unsupported`] if the volume does not know.
    fn place(&self, _node: NodeId) -> VolumeResult<(NodeId, String)> {
        Err(VolumeError::Unsupported)
    }

    /// Creates a file; [`VolumeError::Exists`] if the name already exists.
    fn create(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes>;

    /// Creates a directory; [`VolumeError::Exists`] if the name already exists.
    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes>;

    /// Checks whether names can be removed from a directory, as far as that is known in advance. Front ends call it if
    /// their protocol cannot report a removal that fails later.
    fn may_remove(&self, _directory: NodeId) -> VolumeResult<()> {
        Ok(())
    }

    /// Removes a file's name.
    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()>;

    /// Removes an empty directory.
    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()>;

    /// Renames. A file may replace a file, and a directory an empty directory.
    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()>;

    /// Changes attributes and returns the new ones.
    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes>;

    /// The attributes of DOS that were set; the default for a node without any.
    fn dos_attributes(&self, _node: NodeId) -> VolumeResult<DosAttributes> {
        Ok(DosAttributes::default())
    }

    /// Stores attributes of DOS with a node; [`VolumeError::Denied`] where that is not possible.
    fn set_dos_attributes(&self, _node: NodeId, _attributes: &DosAttributes) -> VolumeResult<()> {
        Err(VolumeError::Denied)
    }

    /// The named streams of a node with their attributes, of which only node and sizes matter. A stream is a node of its
    /// own for [`Self::attributes`], [`Self::read`], [`Self::write`], [`Self::commit`] and the size in
    /// [`Self::set_attributes`]; it goes with the node that has it.
    fn streams(&self, _node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        Ok(Vec::new())
    }

    /// Creates a named stream of a node; [`VolumeError::Exists`] if it already exists. Names that differ only in case are
    /// the same.
    fn create_stream(&self, _node: NodeId, _name: &str) -> VolumeResult<Attributes> {
        Err(VolumeError::Unsupported)
    }

    /// Removes a named stream.
    fn remove_stream(&self, _node: NodeId, _name: &str) -> VolumeResult<()> {
        Err(VolumeError::NotFound)
    }

    /// Renames a named stream; [`VolumeError::Exists`] if the new name already exists.
    fn rename_stream(&self, _node: NodeId, _name: &str, _new_name: &str) -> VolumeResult<()> {
        Err(VolumeError::NotFound)
    }

    /// A security descriptor that a client has stored with a node.
    fn descriptor(&self, _node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Stores a security descriptor with a node, which the volume does not interpret.
    fn set_descriptor(&self, _node: NodeId, _descriptor: &[u8]) -> VolumeResult<()> {
        Err(VolumeError::Unsupported)
    }

    /// The extended attributes that clients have stored with a node, by name.
    fn extended_attributes(&self, _node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        Ok(Vec::new())
    }

    /// Stores an extended attribute with a node; an empty value removes it.
    fn set_extended_attribute(&self, _node: NodeId, _name: &str, _value: &[u8]) -> VolumeResult<()> {
        Err(VolumeError::Unsupported)
    }

    /// Up to `limit` entries after `cookie` (0 = from the start), without `.` and `..`.
    /// Entries that exist throughout a listing appear exactly once.
    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>>;

    /// Reads into `buffer`; the read is short only at the end of the file, and 0 beyond it.
    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize>;

    /// Reads up to `len` bytes without copying them; none if the volume can only copy them, with [`Self::read`].
    fn read_stored(&self, _file: NodeId, _offset: u64, _len: usize) -> VolumeResult<Option<StoredData>> {
        Ok(None)
    }

    /// Writes all of `data`. With `durable` the data are on stable storage before the call returns.
    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()>;

    /// Writes earlier writes of a file to stable storage.
    fn commit(&self, file: NodeId) -> VolumeResult<()>;

    /// Creates a symbolic link with this target, which the volume never follows; [`VolumeError::Exists`] if the name
    /// already exists.
    fn make_link(&self, _directory: NodeId, _name: &str, _target: &[u8]) -> VolumeResult<Attributes> {
        Err(VolumeError::Unsupported)
    }

    /// The target of a symbolic link.
    fn read_link(&self, _link: NodeId) -> VolumeResult<Vec<u8>> {
        Err(VolumeError::Unsupported)
    }

    /// Gives a file one more name; [`VolumeError::Exists`] if the name already exists.
    fn add_name(&self, _file: NodeId, _directory: NodeId, _name: &str) -> VolumeResult<Attributes> {
        Err(VolumeError::Unsupported)
    }

    /// The offset of the next data or hole at or after `offset`; none if there is none before the end of the file. An
    /// offset at or beyond the end is [`VolumeError::TooBig`].
    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        // A volume without knowledge of holes has data everywhere.
        let size = self.attributes(file)?.size;
        if offset >= size {
            return Err(VolumeError::TooBig);
        }
        Ok(Some(if target == SeekTarget::Data { offset } else { size }))
    }

    /// Reserves space for a range, and extends the file if needed.
    fn allocate(&self, _file: NodeId, _offset: u64, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::Unsupported)
    }

    /// Frees a range, which reads as zeros afterwards. The length of the file does not change.
    fn deallocate(&self, _file: NodeId, _offset: u64, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::Unsupported)
    }

    /// Copies up to `len` bytes between files or within one, up to the end of the source, and returns the number of bytes. Ranges of
    /// up to 1 MiB may overlap.
    fn copy(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<u64> {
        self.copy_through_buffer(from, to, len)
    }

    /// [`Self::copy`] by reading and writing.
    fn copy_through_buffer(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<u64> {
        let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(len).unwrap_or(COPY_BYTES))];
        let mut done = 0;
        while done < len {
            let wanted = buffer.len().min(usize::try_from(len - done).unwrap_or(usize::MAX));
            let at = |offset: u64| offset.checked_add(done).ok_or(VolumeError::TooBig);
            let count = self.read(from.file, at(from.offset)?, &mut buffer[..wanted])?;
            self.write(to.file, at(to.offset)?, &buffer[..count], false)?;
            done += count as u64;
            if count < wanted {
                break;
            }
        }
        Ok(done)
    }

    /// Makes a range of a file share the blocks of another one.
    fn clone_range(&self, _from: FileRange, _to: FileRange, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::Unsupported)
    }

    /// Bytes that identify a node also after a restart of the process; none for a volume that does not outlive it.
    fn persistent_id(&self, _node: NodeId) -> Option<PersistentId> {
        None
    }

    /// The node with these bytes; [`VolumeError::Stale`] if it no longer exists.
    fn find_persistent(&self, _id: &PersistentId) -> VolumeResult<NodeId> {
        Err(VolumeError::Stale)
    }

    /// Free and total space.
    fn space(&self) -> VolumeResult<VolumeSpace>;

    /// True if calls never wait (memory without a device model), so that a front end may make them on its own
    /// thread.
    fn never_blocks(&self) -> bool;
}

impl dyn Volume + '_ {
    /// Attributes of an object that was made, after a change that may be none.
    pub(crate) fn complete(&self, made: Attributes, change: &SetAttributes) -> VolumeResult<Attributes> {
        if *change == SetAttributes::default() { Ok(made) } else { self.set_attributes(made.node, change) }
    }
}
