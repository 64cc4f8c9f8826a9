//! The system's errors as errors of a volume.

use rustix::io::Errno;

use crate::VolumeError;

/// The volume's error for a failed system call.
pub(super) fn volume_error(errno: Errno) -> VolumeError {
    match errno {
        Errno::NOENT => VolumeError::NotFound,
        Errno::STALE => VolumeError::Stale,
        Errno::EXIST => VolumeError::Exists,
        Errno::NOTDIR => VolumeError::NotDirectory,
        Errno::ISDIR => VolumeError::IsDirectory,
        Errno::NOTEMPTY => VolumeError::NotEmpty,
        // LOOP: a link, which must not be followed. XDEV: another mount.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV => VolumeError::Denied,
        Errno::NOSPC | Errno::DQUOT | Errno::MLINK => VolumeError::NoSpace,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY => VolumeError::Unsupported,
        Errno::ROFS => VolumeError::ReadOnly,
        Errno::FBIG | Errno::OVERFLOW => VolumeError::TooBig,
        Errno::NAMETOOLONG | Errno::ILSEQ => VolumeError::BadName,
        other => VolumeError::Io(other.raw_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::volume_error;
    use crate::VolumeError;

    #[test]
    fn full_quota_and_read_only_keep_their_meaning() {
        assert_eq!(volume_error(Errno::NOSPC), VolumeError::NoSpace);
        assert_eq!(volume_error(Errno::DQUOT), VolumeError::NoSpace);
        assert_eq!(volume_error(Errno::ROFS), VolumeError::ReadOnly);
        assert_eq!(volume_error(Errno::ACCESS), VolumeError::Denied);
        assert_eq!(volume_error(Errno::IO), VolumeError::Io(5));
    }
}
