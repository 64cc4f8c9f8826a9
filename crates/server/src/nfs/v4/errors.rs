//! Failures of operations: statuses for errors of the volume and of the codec.

use sharebench_nfs::v4::attributes::UNKNOWN_ATTRIBUTE;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::XdrError;

use crate::VolumeError;
use crate::nfs::v4::attributes::supported;
use crate::nfs::v4::compound::MAX_MINOR_VERSION;

/// Why an operation ends its COMPOUND.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpError {
    /// A status without a body.
    Status(Nfs4Status),
    /// A status whose body was encoded.
    WithBody(Nfs4Status),
}

impl OpError {
    /// The status.
    pub(super) fn status(self) -> Nfs4Status {
        match self {
            Self::Status(status) | Self::WithBody(status) => status,
        }
    }
}

/// Outcome of an operation, whose result was encoded.
pub(super) type OpResult = Result<(), OpError>;

impl From<Nfs4Status> for OpError {
    fn from(status: Nfs4Status) -> Self {
        Self::Status(status)
    }
}

impl From<XdrError> for OpError {
    fn from(error: XdrError) -> Self {
        Self::Status(match error {
            // It is known, and can only be read, or only be set.
            XdrError::BadValue { field: UNKNOWN_ATTRIBUTE, value }
                if supported(MAX_MINOR_VERSION).contains(value) =>
            {
                Nfs4Status::Inval
            }
            XdrError::BadValue { field: UNKNOWN_ATTRIBUTE, .. } => Nfs4Status::Attrnotsupp,
            _ => Nfs4Status::Badxdr,
        })
    }
}

/// The status for an error of a node whose handle is known.
pub(super) fn of_node(error: VolumeError) -> Nfs4Status {
    match error {
        VolumeError::NotFound | VolumeError::Stale => Nfs4Status::Stale,
        other => of_name(other),
    }
}

/// The status for an error of a name.
pub(super) fn of_name(error: VolumeError) -> Nfs4Status {
    match error {
        VolumeError::NotFound => Nfs4Status::Noent,
        VolumeError::Stale => Nfs4Status::Stale,
        VolumeError::Exists => Nfs4Status::Exist,
        VolumeError::NotDirectory => Nfs4Status::Notdir,
        VolumeError::IsDirectory => Nfs4Status::Isdir,
        VolumeError::NotEmpty => Nfs4Status::Notempty,
        VolumeError::Denied => Nfs4Status::Access,
        VolumeError::NoSpace => Nfs4Status::Nospc,
        VolumeError::ReadOnly => Nfs4Status::Rofs,
        VolumeError::TooBig => Nfs4Status::Fbig,
        VolumeError::BadName => Nfs4Status::Inval,
        VolumeError::IsLink => Nfs4Status::Symlink,
        VolumeError::Unsupported => Nfs4Status::Notsupp,
        VolumeError::Io(_) => Nfs4Status::Io,
    }
}
