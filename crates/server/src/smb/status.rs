//! The status for an error of the volume or of a message.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::WireError;

use crate::{VolumeError, VolumeResult};

/// Outcome of a request before it is encoded.
pub(super) type Outcome<T> = Result<T, NtStatus>;

/// The status for an error of the volume.
pub(super) fn status(error: VolumeError) -> NtStatus {
    match error {
        VolumeError::NotFound => NtStatus::OBJECT_NAME_NOT_FOUND,
        VolumeError::Stale => NtStatus::FILE_CLOSED,
        VolumeError::Exists => NtStatus::OBJECT_NAME_COLLISION,
        VolumeError::NotDirectory => NtStatus::NOT_A_DIRECTORY,
        VolumeError::IsDirectory => NtStatus::FILE_IS_A_DIRECTORY,
        VolumeError::NotEmpty => NtStatus::DIRECTORY_NOT_EMPTY,
        VolumeError::Denied | VolumeError::ReadOnly | VolumeError::IsLink => NtStatus::ACCESS_DENIED,
        VolumeError::NoSpace => NtStatus::DISK_FULL,
        VolumeError::TooBig => NtStatus::INVALID_PARAMETER,
        VolumeError::BadName => NtStatus::OBJECT_NAME_INVALID,
        VolumeError::Unsupported | VolumeError::Io(_) => NtStatus::UNSUCCESSFUL,
    }
}

/// Converts a result of the volume.
pub(super) fn checked<T>(result: VolumeResult<T>) -> Outcome<T> {
    result.map_err(status)
}

/// The status for a message that cannot be decoded.
#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err requires")]
pub(super) fn malformed(error: WireError) -> NtStatus {
    tracing::debug!(%error, "SMB request rejected");
    NtStatus::INVALID_PARAMETER
}
