//! Adapts a volume of this crate to the interface of the NCP server.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_ncp::server::volume::{self, Change, Entry, Node, Space};
use sharebench_ncp::wire::{Completion, DosTime};

use crate::ncp::environment::unix_seconds;
use crate::ncp::options::{CommitPolicy, NameSpaces};
use crate::volume::name::check_portable_name;
use crate::{Attributes, DirectoryEntry, DosAttributes, NodeId, ROOT, SetAttributes, Volume, VolumeError};

/// A volume, its commit policy and its name spaces.
pub(super) struct ServedVolume {
    volume: Arc<dyn Volume>,
    commit: CommitPolicy,
    names: NameSpaces,
    read_only: bool,
}

impl ServedVolume {
    pub(super) fn new(volume: Arc<dyn Volume>, commit: CommitPolicy, names: NameSpaces) -> Self {
        // A change of nothing fails only on a read-only volume.
        let nothing = volume.set_attributes(ROOT, &SetAttributes::default());
        Self { volume, commit, names, read_only: nothing == Err(VolumeError::ReadOnly) }
    }
}

/// Write permission bits.
const WRITABLE: u32 = 0o222;
/// The bits that a file gets when it becomes writable again.
const OWNER_WRITABLE: u32 = 0o200;

/// The completion code of a failure on a name.
fn named(error: VolumeError) -> Completion {
    match error {
        VolumeError::NotFound | VolumeError::Stale => Completion::Failure,
        VolumeError::Exists => Completion::FileExists,
        VolumeError::NotDirectory | VolumeError::IsDirectory => Completion::InvalidPath,
        VolumeError::NotEmpty => Completion::DirectoryNotEmpty,
        VolumeError::Denied | VolumeError::IsLink => Completion::NoOpenRights,
        VolumeError::NoSpace | VolumeError::TooBig => Completion::OutOfDiskSpace,
        VolumeError::ReadOnly => Completion::NoWriteRights,
        VolumeError::BadName => Completion::BadFileName,
        VolumeError::Unsupported | VolumeError::Io(_) => Completion::HardIoError,
    }
}

/// The completion code of a failure on an open file, which may have been removed.
fn opened(error: VolumeError) -> Completion {
    match error {
        VolumeError::NotFound | VolumeError::Stale => Completion::InvalidFileHandle,
        other => named(other),
    }
}

fn id(node: Node) -> NodeId {
    NodeId(u64::from(node))
}

fn text(name: &[u8]) -> Result<&str, Completion> {
    std::str::from_utf8(name).map_err(|_| Completion::BadFileName)
}

/// The entry of a file; fails if its node number exceeds the 32 bits of NCP.
fn entry(name: &str, attributes: &Attributes, dos: &DosAttributes) -> Result<Entry, Completion> {
    let dos_time = |time| DosTime::from_unix(unix_seconds(time));
    Ok(Entry {
        node: Node::try_from(attributes.node.0).map_err(|_| Completion::DirectoryIoError)?,
        name: name.as_bytes().to_vec(),
        directory: attributes.directory,
        size: if attributes.directory { 0 } else { attributes.size },
        created: dos_time(dos.created.unwrap_or(attributes.created)),
        modified: dos_time(attributes.modified),
        accessed: dos_time(attributes.accessed).date,
        read_only: !attributes.directory && attributes.mode & WRITABLE == 0,
        stored: dos.bits & volume::STORED_ATTRIBUTES,
    })
}

impl ServedVolume {
    /// The entry of a node with its stored attributes.
    fn stored_entry(&self, name: &str, attributes: &Attributes) -> Result<Entry, Completion> {
        // A node that was removed meanwhile has none.
        let dos = self.volume.dos_attributes(attributes.node).unwrap_or_default();
        entry(name, attributes, &dos)
    }

    /// Stores those attributes of DOS that change.
    fn change_dos(&self, node: Node, change: &Change) -> Result<(), Completion> {
        if change.stored.is_none() && change.created.is_none() {
            return Ok(());
        }
        let old = self.volume.dos_attributes(id(node)).map_err(named)?;
        let created = change.created.and_then(system_time).or(old.created);
        let new = DosAttributes { bits: change.stored.unwrap_or(old.bits), created };
        if new == old {
            return Ok(());
        }
        let stored = self.volume.set_dos_attributes(id(node), &new);
        stored.map_err(|error| match error {
            VolumeError::NotFound | VolumeError::Stale => Completion::Failure,
            VolumeError::NoSpace => Completion::OutOfDiskSpace,
            // The file system stores no such attributes.
            _ => Completion::NoModifyRights,
        })
    }
}

/// A time in seconds since 1970; none before.
fn system_time(seconds: i64) -> Option<SystemTime> {
    u64::try_from(seconds).map(|since| UNIX_EPOCH + Duration::from_secs(since)).ok()
}

impl volume::Volume for ServedVolume {
    fn root(&self) -> Node {
        ROOT.0 as Node
    }

    fn entry(&self, node: Node) -> Result<Entry, Completion> {
        self.stored_entry("", &self.volume.attributes(id(node)).map_err(named)?)
    }

    fn lookup(&self, directory: Node, name: &[u8]) -> Result<Entry, Completion> {
        let name = text(name)?;
        match self.volume.lookup(id(directory), name) {
            Ok(found) => self.stored_entry(name, &found),
            Err(VolumeError::NotFound) => {
                let (stored, found) = self.volume.lookup_any_case(id(directory), name).map_err(named)?;
                self.stored_entry(&stored, &found)
            }
            Err(error) => Err(named(error)),
        }
    }

    fn list(&self, directory: Node, cookie: u64, limit: usize) -> Result<Vec<(u64, Entry)>, Completion> {
        let page = self.volume.list(id(directory), cookie, limit).map_err(named)?;
        let entry = |found: &DirectoryEntry| self.stored_entry(&found.name, &found.attributes);
        page.iter().map(|found| Ok((found.cookie, entry(found)?))).collect()
    }

    fn create(&self, parent: Node, name: &[u8], directory: bool) -> Result<Entry, Completion> {
        let name = text(name)?;
        check_portable_name(name).map_err(named)?;
        let made = if directory {
            self.volume.make_directory(id(parent), name, 0o755)
        } else {
            self.volume.create(id(parent), name, 0o644)
        };
        entry(name, &made.map_err(named)?, &DosAttributes::default())
    }

    fn remove(&self, parent: Node, name: &[u8], directory: bool) -> Result<(), Completion> {
        let name = text(name)?;
        let removed = if directory {
            self.volume.remove_directory(id(parent), name)
        } else {
            self.volume.remove(id(parent), name)
        };
        removed.map_err(named)
    }

    fn rename(&self, from: Node, name: &[u8], to: Node, new_name: &[u8]) -> Result<(), Completion> {
        let new_name = text(new_name)?;
        check_portable_name(new_name).map_err(named)?;
        self.volume.rename(id(from), text(name)?, id(to), new_name).map_err(named)
    }

    fn read(&self, node: Node, offset: u64, buffer: &mut [u8]) -> Result<usize, Completion> {
        self.volume.read(id(node), offset, buffer).map_err(opened)
    }

    fn write(&self, node: Node, offset: u64, data: &[u8], durable: bool) -> Result<(), Completion> {
        let durable = durable && self.commit == CommitPolicy::Disk;
        self.volume.write(id(node), offset, data, durable).map_err(opened)
    }

    fn resize(&self, node: Node, size: u64) -> Result<(), Completion> {
        let size = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.volume.set_attributes(id(node), &size).map(|_| ()).map_err(opened)
    }

    fn place(&self, node: Node) -> Result<(Node, Vec<u8>), Completion> {
        let (parent, name) = self.volume.place(id(node)).map_err(named)?;
        let parent = Node::try_from(parent.0).map_err(|_| Completion::DirectoryIoError)?;
        Ok((parent, name.into_bytes()))
    }

    fn has_long_names(&self) -> bool {
        self.names == NameSpaces::All
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn change(&self, node: Node, change: &Change) -> Result<(), Completion> {
        self.change_dos(node, change)?;
        let mut wanted = SetAttributes {
            modified: change.modified.and_then(system_time),
            accessed: change.accessed.and_then(system_time),
            ..SetAttributes::default()
        };
        if let Some(read_only) = change.read_only {
            let mode = self.volume.attributes(id(node)).map_err(named)?.mode;
            if read_only != (mode & WRITABLE == 0) {
                wanted.mode = Some(if read_only { mode & !WRITABLE } else { mode | OWNER_WRITABLE });
            }
        }
        self.volume.set_attributes(id(node), &wanted).map(|_| ()).map_err(named)
    }

    fn commit(&self, node: Node) -> Result<(), Completion> {
        match self.commit {
            CommitPolicy::Disk => self.volume.commit(id(node)).map_err(opened),
            // An invalid handle is an error with every policy.
            CommitPolicy::None => self.volume.attributes(id(node)).map(|_| ()).map_err(opened),
        }
    }

    fn space(&self) -> Result<Space, Completion> {
        let space = self.volume.space().map_err(named)?;
        Ok(Space {
            total: space.total_bytes,
            free: space.free_bytes,
            total_entries: space.total_files,
            free_entries: space.free_files,
        })
    }
}
