//! Calls of a volume from the asynchronous runtime of the SMB server.

use std::sync::Arc;

use smb_server::{SmbError, SmbResult};

use crate::{Volume, VolumeError, VolumeResult};

/// A volume, and whether it may be called on the thread that serves connections.
#[derive(Clone)]
pub(super) struct VolumeCall {
    volume: Arc<dyn Volume>,
    never_blocks: bool,
}

impl VolumeCall {
    /// Determines once whether the volume blocks.
    pub(super) fn new(volume: Arc<dyn Volume>) -> Self {
        let never_blocks = volume.never_blocks();
        Self { volume, never_blocks }
    }

    /// Makes one or several calls, on a thread of the blocking pool if they may wait.
    pub(super) async fn run<T, F>(&self, calls: F) -> SmbResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Volume) -> SmbResult<T> + Send + 'static,
    {
        if self.never_blocks {
            return calls(self.volume.as_ref());
        }
        let volume = Arc::clone(&self.volume);
        let done = tokio::task::spawn_blocking(move || calls(volume.as_ref())).await;
        // The runtime is shutting down, or the volume panicked. The request fails in both cases.
        done.unwrap_or_else(|error| Err(SmbError::Io(std::io::Error::other(error))))
    }
}

/// The SMB error for an error of the volume.
pub(super) fn smb_error(error: VolumeError) -> SmbError {
    match error {
        VolumeError::NotFound | VolumeError::Stale => SmbError::NotFound,
        VolumeError::Exists => SmbError::Exists,
        VolumeError::NotDirectory => SmbError::NotADirectory,
        VolumeError::IsDirectory => SmbError::IsDirectory,
        VolumeError::NotEmpty => SmbError::NotEmpty,
        VolumeError::Denied | VolumeError::ReadOnly => SmbError::AccessDenied,
        VolumeError::NoSpace => SmbError::DiskFull,
        VolumeError::TooBig => SmbError::Io(std::io::Error::from_raw_os_error(libc::EFBIG)),
        VolumeError::BadName => SmbError::NameInvalid,
        VolumeError::Io(errno) => SmbError::Io(std::io::Error::from_raw_os_error(errno)),
    }
}

/// Converts a volume's result.
pub(super) fn smb_result<T>(result: VolumeResult<T>) -> SmbResult<T> {
    result.map_err(smb_error)
}
