//! Symbolic and hard links of a directory of the host.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, Gid, Timestamps, Uid, chownat, linkat, readlinkat, symlinkat, utimensat};
use rustix::io::Errno;
use sharebench_local::beneath::{Kind, Status};

use crate::volume::directory::linux::DirectoryVolume;
use crate::volume::directory::linux::errno::volume_error;
use crate::volume::directory::linux::volume::timespec;
use crate::volume::name::{check_name, check_target};
use crate::{Attributes, NodeId, SetAttributes, VolumeError, VolumeResult};

impl DirectoryVolume {
    /// Creates a symbolic link; it is never followed here, so that its target may be any text.
    pub(super) fn make_symbolic_link(
        &self,
        directory: NodeId,
        name: &str,
        target: &[u8],
    ) -> VolumeResult<Attributes> {
        check_name(name)?;
        check_target(target)?;
        self.writable()?;
        if !self.tree.links {
            return Err(VolumeError::Unsupported);
        }
        let parent = self.tree.directory(directory)?;
        symlinkat(target, parent.fd(), name).map_err(volume_error)?;
        self.names_changed(directory);
        let status = self.tree.status(&parent, name)?;
        Ok(self.seen(&status, directory, name))
    }

    /// The target of a symbolic link.
    pub(super) fn link_target(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        let open = self.tree.node(link)?;
        if !open.link {
            return Err(VolumeError::BadName);
        }
        // An empty path is the link that the descriptor refers to.
        Ok(readlinkat(open.fd(), c"", Vec::new()).map_err(volume_error)?.into_bytes())
    }

    /// Adds a name to a file or link that is part of the tree.
    pub(super) fn add_hard_link(
        &self,
        file: NodeId,
        directory: NodeId,
        name: &str,
    ) -> VolumeResult<Attributes> {
        check_name(name)?;
        self.writable()?;
        let open = self.tree.node(file)?;
        if open.directory {
            return Err(VolumeError::IsDirectory);
        }
        let parent = self.tree.directory(directory)?;
        // By the descriptor and not by a name, which could be exchanged for another file in between. The magic link in
        // /proc needs no capability, unlike an empty path; for a symbolic link it is followed to the link itself.
        let path = format!("/proc/self/fd/{}", open.fd().as_raw_fd());
        linkat(rustix::fs::CWD, path, parent.fd(), name, AtFlags::SYMLINK_FOLLOW).map_err(
            |errno| match errno {
                // The file has lost its last name.
                Errno::NOENT => VolumeError::Stale,
                errno => volume_error(errno),
            },
        )?;
        self.names_changed(directory);
        self.tree.changes.note(file);
        let status = Status::from_file(open.fd()).map_err(volume_error)?;
        self.tree.places.add_other_name(file, status.identity, directory, name);
        debug_assert!(status.kind != Kind::Directory);
        Ok(self.tree.described(&status, file))
    }
}

/// Sets owner and times of a symbolic link, which has no permissions of its own.
pub(super) fn change(link: BorrowedFd<'_>, change: &SetAttributes) -> Result<(), Errno> {
    if change.uid.is_some() || change.gid.is_some() {
        let owner = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
        chownat(link, c"", owner.0, owner.1, AtFlags::EMPTY_PATH)?;
    }
    if change.accessed.is_some() || change.modified.is_some() {
        let times = Timestamps {
            last_access: timespec(change.accessed),
            last_modification: timespec(change.modified),
        };
        utimensat(link, c"", &times, AtFlags::EMPTY_PATH)?;
    }
    Ok(())
}
