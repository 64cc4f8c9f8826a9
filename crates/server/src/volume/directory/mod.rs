//! A directory of the host as a volume, and nothing outside it.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::DirectoryVolume;
#[cfg(not(target_os = "linux"))]
pub use unsupported::DirectoryVolume;

use std::path::PathBuf;

use crate::VolumeError;

/// Options of [`DirectoryVolume`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryOptions {
    /// Reject every change.
    pub read_only: bool,
    /// Serve symbolic links as nodes of their own, which are never followed. Otherwise they are neither shown nor
    /// changed, and their names stay reserved.
    pub links: bool,
    /// Maximum number of file descriptors that are kept open.
    pub open_files: usize,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self { read_only: false, links: false, open_files: 512 }
    }
}

/// The directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It is no directory, or cannot be read.
    #[error("cannot serve directory {path}: {error}")]
    Rejected {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: VolumeError,
    },
    /// No directory can be served on this system.
    #[error("cannot serve directory {path}: that needs Linux; serve a volume in memory instead")]
    Unsupported {
        /// The directory.
        path: PathBuf,
    },
}
