//! The errors of volumes, which each front end maps to the codes of its protocol.

/// Why a volume rejects an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// No such name or node.
    #[error("not found")]
    NotFound,
    /// The node no longer exists.
    #[error("stale")]
    Stale,
    /// The name already exists.
    #[error("exists")]
    Exists,
    /// The node is not a directory.
    #[error("not a directory")]
    NotDirectory,
    /// The node is a directory.
    #[error("is a directory")]
    IsDirectory,
    /// The directory is not empty.
    #[error("not empty")]
    NotEmpty,
    /// Permission denied, or the name leads out of the volume.
    #[error("denied")]
    Denied,
    /// No space, or a limit of the volume is reached.
    #[error("no space")]
    NoSpace,
    /// The volume is read-only.
    #[error("read-only")]
    ReadOnly,
    /// A file larger than the volume can hold, or an offset beyond 2^63.
    #[error("too big")]
    TooBig,
    /// The name is empty, `.`, `..`, too long, or contains `/` or NUL.
    #[error("bad name")]
    BadName,
    /// The node is a symbolic link.
    #[error("is a symbolic link")]
    IsLink,
    /// The volume or its file system does not support the operation.
    #[error("not supported")]
    Unsupported,
    /// The system failed with this errno.
    #[error("errno {0}")]
    Io(i32),
}

/// Result of a volume operation.
pub type VolumeResult<T> = Result<T, VolumeError>;
