//! A directory of a Linux host as a volume.

mod changes;
mod descriptors;
mod dos_attributes;
mod errno;
mod extended_attributes;
mod folded_names;
mod links;
mod names;
mod open_files;
mod persistent;
mod places;
mod ranges;
mod status;
mod streams;
mod tree;
mod volume;

use std::path::Path;

use crate::volume::directory::linux::tree::Tree;
use crate::volume::directory::{DirectoryError, DirectoryOptions};

/// A directory of the host as a volume.
///
/// Every name is opened as one component below an open directory, without following links, so that no name leads out of
/// the tree. Devices, sockets and pipes, and symbolic links without [`DirectoryOptions::links`], are not listed and are
/// denied by name;
/// other file systems mounted below are not entered, and what their mount points hide is not part of the tree either.
/// Names that are not UTF-8 are not listed.
///
/// Nodes are identified by device, inode and time of creation, so that they keep their number across renames, including
/// renames by other processes of the host once the new name is seen. Files are created with
/// the owner of this process. A name is as durable as the file system makes it; bytes are durable after
/// `commit` or a durable write.
pub struct DirectoryVolume {
    tree: Tree,
    read_only: bool,
}

impl DirectoryVolume {
    /// Opens the directory at `path`; links in the path itself are followed.
    ///
    /// # Errors
    /// [`DirectoryError`] if it is not a directory, or cannot be read.
    pub fn open(path: impl AsRef<Path>, options: &DirectoryOptions) -> Result<Self, DirectoryError> {
        let path = path.as_ref();
        let failed = |error| DirectoryError::Rejected { path: path.to_owned(), error };
        let tree = Tree::open(path, options).map_err(failed)?;
        Ok(Self { tree, read_only: options.read_only })
    }
}
