//! A directory of the host as a volume, and nothing outside it.

mod errno;
mod names;
mod open_files;
mod places;
mod status;
mod tree;
mod volume;

use std::path::{Path, PathBuf};

use crate::VolumeError;
use crate::directory::tree::Tree;

/// Options of [`DirectoryVolume`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryOptions {
    /// Refuse every change.
    pub read_only: bool,
    /// File descriptors kept open at most.
    pub open_files: usize,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self { read_only: false, open_files: 512 }
    }
}

/// The directory cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve directory {path}: {error}")]
pub struct DirectoryError {
    /// The directory.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub error: VolumeError,
}

/// A directory of the host.
///
/// Every name is opened as one component below a directory already open, without following links, so no
/// name leads out. Symbolic links, devices, sockets and pipes are not listed and are denied by name;
/// other file systems mounted below are not entered: what they hide is not part of the tree either.
/// Names that are not UTF-8 are not shown.
///
/// Nodes are known by device, inode and time of creation, so they keep their number across renames,
/// also by others on the host, as soon as they are seen at their new place. Files are created with
/// the owner of this process. A name is as durable as the file system makes it; bytes are durable after
/// `commit` or a durable write.
pub struct DirectoryVolume {
    tree: Tree,
    read_only: bool,
}

impl DirectoryVolume {
    /// Serves the directory at `path`; links on the way to it are followed.
    ///
    /// # Errors
    /// [`DirectoryError`] if it is no directory, or may not be read.
    pub fn open(path: impl AsRef<Path>, options: &DirectoryOptions) -> Result<Self, DirectoryError> {
        let path = path.as_ref();
        let failed = |error| DirectoryError { path: path.to_owned(), error };
        let tree = Tree::open(path, options.open_files).map_err(failed)?;
        Ok(Self { tree, read_only: options.read_only })
    }
}
