//! The implementation of the volume trait for a directory of the host.

use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use rustix::fs::{
    Access, AtFlags, FallocateFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, accessat,
    fchmod, fchown, fdatasync, fstatvfs, ftruncate, futimens, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use sharebench_local::beneath::{Kind, NO_LINKS, Status};

use crate::volume::directory::linux::DirectoryVolume;
use crate::volume::directory::linux::errno::volume_error;
use crate::volume::directory::linux::names::groups_after;
use crate::volume::directory::linux::open_files::OpenNode;
use crate::volume::directory::linux::status::seconds_of;
use crate::volume::directory::linux::streams::is_stream;
use crate::volume::directory::linux::{descriptors, dos_attributes, extended_attributes};
use crate::volume::directory::linux::{links, ranges};
use crate::volume::name::check_name;
use crate::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, PersistentId, ROOT, SeekTarget,
    SetAttributes, Volume, VolumeError, VolumeResult, VolumeSpace,
};

impl DirectoryVolume {
    pub(super) fn writable(&self) -> VolumeResult<()> {
        if self.read_only { Err(VolumeError::ReadOnly) } else { Ok(()) }
    }

    /// Attributes of a name that was just seen; its place is recorded.
    pub(super) fn seen(&self, status: &Status, directory: NodeId, name: &str) -> Attributes {
        self.tree.described(status, self.tree.places.seen(status, directory, name))
    }

    /// Forgets a file that has lost its last name.
    fn one_name_less(&self, before: &Status) {
        if before.links <= 1 || before.kind == Kind::Directory {
            self.tree.node_removed(before);
        } else if let Some(id) = self.tree.places.number(before.identity) {
            self.tree.changes.note(id);
        }
    }

    /// Counts a change of the names of a directory.
    pub(super) fn names_changed(&self, directory: NodeId) {
        self.tree.changes.note(directory);
    }
}

impl Volume for DirectoryVolume {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.tree.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        check_name(name)?;
        let open = self.tree.directory(directory)?;
        let status = self.tree.status(&open, name)?;
        Ok(self.seen(&status, directory, name))
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        check_name(name)?;
        let open = self.tree.directory(directory)?;
        let only = self.tree.folded_names.only(directory, open.fd(), name)?.ok_or(VolumeError::NotFound)?;
        self.lookup(directory, &only).map(|attributes| (only, attributes))
    }

    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId> {
        self.tree.directory(directory)?;
        if directory == ROOT {
            return Ok(ROOT);
        }
        Ok(self.tree.places.get(directory)?.parent)
    }

    fn listed_in(&self, node: NodeId) -> ListedIn {
        if node == ROOT { ListedIn::Directory(ROOT) } else { self.tree.listed_in(node) }
    }

    fn place(&self, node: NodeId) -> VolumeResult<(NodeId, String)> {
        if node == ROOT { Ok((ROOT, String::new())) } else { self.tree.place(node) }
    }

    fn create(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        check_name(name)?;
        self.writable()?;
        let parent = self.tree.directory(directory)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | NO_LINKS;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        let fd = openat(parent.fd(), name, flags, mode).map_err(volume_error)?;
        let open = OpenNode::new(fd, false, true);
        // The client has already applied its umask; the umask of this process must not apply as well.
        fchmod(open.fd(), mode).map_err(volume_error)?;
        let status = Status::from_file(open.fd()).map_err(volume_error)?;
        let attributes = self.seen(&status, directory, name);
        self.tree.open_files.insert(attributes.node, open);
        self.names_changed(directory);
        Ok(attributes)
    }

    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        check_name(name)?;
        self.writable()?;
        let parent = self.tree.directory(directory)?;
        let mode = Mode::from_raw_mode(mode & 0o7777);
        mkdirat(parent.fd(), name, mode).map_err(volume_error)?;
        self.names_changed(directory);
        let attributes = self.lookup(directory, name)?;
        let open = self.tree.node(attributes.node)?;
        fchmod(open.fd(), mode).map_err(volume_error)?;
        self.tree.attributes(attributes.node)
    }

    fn may_remove(&self, directory: NodeId) -> VolumeResult<()> {
        self.writable()?;
        let open = self.tree.directory(directory)?;
        accessat(open.fd(), ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).map_err(volume_error)
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        check_name(name)?;
        self.writable()?;
        let parent = self.tree.directory(directory)?;
        let status = self.tree.status(&parent, name)?;
        if status.kind == Kind::Directory {
            return Err(VolumeError::IsDirectory);
        }
        unlinkat(parent.fd(), name, AtFlags::empty()).map_err(volume_error)?;
        self.names_changed(directory);
        self.one_name_less(&status);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        check_name(name)?;
        self.writable()?;
        let parent = self.tree.directory(directory)?;
        let status = self.tree.status(&parent, name)?;
        if status.kind != Kind::Directory {
            return Err(VolumeError::NotDirectory);
        }
        unlinkat(parent.fd(), name, AtFlags::REMOVEDIR).map_err(volume_error)?;
        self.names_changed(directory);
        self.tree.node_removed(&status);
        Ok(())
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        check_name(name)?;
        check_name(new_name)?;
        self.writable()?;
        let source = self.tree.directory(from)?;
        let target = self.tree.directory(to)?;
        let moved = self.tree.status(&source, name)?;
        let replaced = match self.tree.status(&target, new_name) {
            Ok(status) => Some(status),
            Err(VolumeError::NotFound) => None,
            Err(error) => return Err(error),
        };
        renameat(source.fd(), name, target.fd(), new_name).map_err(|errno| match errno {
            // A directory cannot be moved into itself.
            Errno::INVAL => VolumeError::BadName,
            errno => volume_error(errno),
        })?;
        if let Some(replaced) = replaced.filter(|replaced| replaced.identity != moved.identity) {
            self.one_name_less(&replaced);
        }
        self.names_changed(from);
        self.names_changed(to);
        self.tree.places.seen(&moved, to, new_name);
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        self.writable()?;
        if is_stream(node) {
            if let Some(size) = change.size {
                self.tree.resize_stream(node, size)?;
            }
            return self.tree.attributes(node);
        }
        if let Some(size) = change.size {
            if i64::try_from(size).is_err() {
                return Err(VolumeError::TooBig);
            }
            ftruncate(self.tree.file(node, true)?.fd(), size).map_err(volume_error)?;
        }
        let others = SetAttributes { size: None, ..change.clone() };
        if others != SetAttributes::default() {
            let open = self.tree.node(node)?;
            let change = if open.link { links::change } else { change_open };
            change(open.fd(), &others).map_err(volume_error)?;
        }
        self.tree.changes.note(node);
        let found = self.tree.attributes(node)?;
        let Some(changed) = change.changed else { return Ok(found) };
        self.tree.changes.state_time(node, changed, found.changed);
        Ok(Attributes { changed, ..found })
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        self.tree.dos_attributes(node)
    }

    fn set_dos_attributes(&self, node: NodeId, attributes: &DosAttributes) -> VolumeResult<()> {
        self.writable()?;
        dos_attributes::write(self.tree.node(node)?.fd(), attributes).map_err(volume_error)?;
        self.tree.changes.note(node);
        Ok(())
    }

    fn streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        self.tree.list_streams(node)
    }

    fn create_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.writable()?;
        self.tree.create_stream(node, name)
    }

    fn remove_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        self.writable()?;
        self.tree.remove_stream(node, name)
    }

    fn rename_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        self.writable()?;
        self.tree.rename_stream(node, name, new_name)
    }

    fn descriptor(&self, node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        Ok(descriptors::read(self.tree.node(node)?.fd()))
    }

    fn set_descriptor(&self, node: NodeId, descriptor: &[u8]) -> VolumeResult<()> {
        self.writable()?;
        descriptors::write(self.tree.node(node)?.fd(), descriptor).map_err(volume_error)?;
        self.tree.changes.note(node);
        Ok(())
    }

    fn extended_attributes(&self, node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        extended_attributes::read(self.tree.node(node)?.fd())
    }

    fn set_extended_attribute(&self, node: NodeId, name: &str, value: &[u8]) -> VolumeResult<()> {
        self.writable()?;
        extended_attributes::write(self.tree.node(node)?.fd(), name, value)?;
        self.tree.changes.note(node);
        Ok(())
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        let open = self.tree.directory(directory)?;
        let names = self.tree.listings.names(directory, open.fd(), self.tree.listed(), cookie == 0)?;
        let mut entries = Vec::new();
        for group in groups_after(&names, cookie) {
            // Return at least one group, even if it exceeds the limit: otherwise no listing could pass it.
            if !entries.is_empty() && entries.len() + group.len() > limit {
                break;
            }
            for (cookie, name) in group {
                // Removed in the meantime, or not served: not an entry.
                if let Ok(status) = self.tree.status(&open, name) {
                    let attributes = self.seen(&status, directory, name);
                    entries.push(DirectoryEntry { name: name.clone(), attributes, cookie: *cookie });
                }
            }
        }
        Ok(entries)
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        if is_stream(file) {
            return self.tree.read_stream(file, offset, buffer);
        }
        let open = self.tree.file(file, false)?;
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let Some(at) = file_offset(offset, done) else { break };
            match retry_on_intr(|| pread(open.fd(), &mut *rest, at)).map_err(volume_error)? {
                0 => break,
                count => done += count,
            }
        }
        Ok(done)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        self.writable()?;
        if is_stream(file) {
            return self.tree.write_stream(file, offset, data);
        }
        file_offset(offset, data.len()).ok_or(VolumeError::TooBig)?;
        let open = self.tree.file(file, true)?;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let at = file_offset(offset, done).ok_or(VolumeError::TooBig)?;
            match retry_on_intr(|| pwrite(open.fd(), rest, at)).map_err(volume_error)? {
                0 => return Err(VolumeError::NoSpace),
                count => done += count,
            }
        }
        self.tree.changes.note(file);
        if durable {
            retry_on_intr(|| fdatasync(open.fd())).map_err(volume_error)?;
        }
        Ok(())
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        if is_stream(file) {
            return Ok(());
        }
        let open = self.tree.file(file, false)?;
        if self.read_only {
            return Ok(());
        }
        retry_on_intr(|| fdatasync(open.fd())).map_err(volume_error)
    }

    fn make_link(&self, directory: NodeId, name: &str, target: &[u8]) -> VolumeResult<Attributes> {
        self.make_symbolic_link(directory, name, target)
    }

    fn read_link(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        self.link_target(link)
    }

    fn add_name(&self, file: NodeId, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.add_hard_link(file, directory, name)
    }

    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        ranges::seek(self.tree.file(file, false)?.fd(), offset, target)
    }

    fn allocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.change_range(file, offset, len, FallocateFlags::empty())
    }

    fn deallocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.change_range(file, offset, len, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE)
    }

    fn copy(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<u64> {
        // The system copies neither overlapping ranges nor streams.
        if from.file == to.file || is_stream(from.file) || is_stream(to.file) {
            return self.copy_through_buffer(from, to, len);
        }
        self.copy_between(from, to, len)
    }

    fn clone_range(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<()> {
        self.clone_between(from, to, len)
    }

    fn persistent_id(&self, node: NodeId) -> Option<PersistentId> {
        self.tree.persistent_id(node)
    }

    fn find_persistent(&self, id: &PersistentId) -> VolumeResult<NodeId> {
        self.tree.find_persistent(id)
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        let space = fstatvfs(self.tree.root.fd()).map_err(volume_error)?;
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        // Some file systems allocate inodes dynamically and report none: assume one per block.
        let has_inodes = space.f_files > 0;
        Ok(VolumeSpace {
            total_bytes: bytes(space.f_blocks),
            free_bytes: bytes(space.f_bavail),
            total_files: if has_inodes { space.f_files } else { space.f_blocks },
            free_files: if has_inodes { space.f_favail } else { space.f_bavail },
        })
    }

    fn never_blocks(&self) -> bool {
        false
    }
}

/// `offset + done`, if the system's offsets can express it.
pub(super) fn file_offset(offset: u64, done: usize) -> Option<u64> {
    offset.checked_add(done as u64).filter(|at| i64::try_from(*at).is_ok())
}

/// Sets mode, owner and times.
fn change_open(fd: BorrowedFd<'_>, change: &SetAttributes) -> Result<(), Errno> {
    if change.uid.is_some() || change.gid.is_some() {
        fchown(fd, change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw))?;
    }
    if let Some(mode) = change.mode {
        // After the change of owner, which clears the set-id bits.
        fchmod(fd, Mode::from_raw_mode(mode & 0o7777))?;
    }
    if change.accessed.is_some() || change.modified.is_some() {
        let times = Timestamps {
            last_access: timespec(change.accessed),
            last_modification: timespec(change.modified),
        };
        futimens(fd, &times)?;
    }
    Ok(())
}

/// A time for the system, or the request to leave it unchanged.
pub(super) fn timespec(time: Option<SystemTime>) -> Timespec {
    let Some(time) = time else { return Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT } };
    let (seconds, nanoseconds) = seconds_of(time);
    Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() }
}
