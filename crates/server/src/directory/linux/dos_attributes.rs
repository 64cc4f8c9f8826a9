//! Attributes of DOS in an extended attribute of a file, because Unix has no place for them.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, XattrFlags, fchmod, fgetxattr, fsetxattr, fstat, lgetxattr};
use rustix::io::Errno;

use crate::DosAttributes;

/// Name of the extended attribute.
const NAME: &str = "user.sharebench.dos";
/// Bytes of its value: the bits and the seconds since 1970, little-endian.
const LEN: usize = 4 + 8;
/// Seconds of a creation time that nobody has set.
const UNSET: i64 = i64::MIN;
/// Permission of the owner to write.
const OWNER_WRITABLE: u32 = 0o200;

/// The attributes of an open file; the default if it has none or the file system stores none.
pub(super) fn read(fd: BorrowedFd<'_>) -> DosAttributes {
    let mut value = [0; LEN];
    let len = fgetxattr(fd, NAME, &mut value);
    decode(&value, len)
}

/// The attributes of a name in an open directory, without opening the file. The descriptor is used as a path, because
/// the kernel has no call for names relative to it before Linux 6.13.
pub(super) fn read_name(directory: BorrowedFd<'_>, name: &str) -> DosAttributes {
    let mut value = [0; LEN];
    let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
    let len = lgetxattr(path, NAME, &mut value);
    decode(&value, len)
}

/// Stores the attributes of an open file.
pub(super) fn write(fd: BorrowedFd<'_>, attributes: &DosAttributes) -> Result<(), Errno> {
    store(fd, NAME, &encode(attributes))
}

/// Stores an extended attribute of an open file.
pub(super) fn store(fd: BorrowedFd<'_>, name: &str, value: &[u8]) -> Result<(), Errno> {
    match fsetxattr(fd, name, value, XattrFlags::empty()) {
        // The file is read-only, which for its owner is a matter of its mode.
        Err(Errno::ACCESS) => {
            let mode = fstat(fd)?.st_mode & 0o7777;
            fchmod(fd, Mode::from_raw_mode(mode | OWNER_WRITABLE))?;
            let stored = fsetxattr(fd, name, value, XattrFlags::empty());
            fchmod(fd, Mode::from_raw_mode(mode))?;
            stored
        }
        stored => stored,
    }
}

fn encode(attributes: &DosAttributes) -> [u8; LEN] {
    let since = attributes.created.and_then(|created| created.duration_since(UNIX_EPOCH).ok());
    let seconds = since.map_or(UNSET, |since| i64::try_from(since.as_secs()).unwrap_or(UNSET));
    let mut value = [0; LEN];
    value[..4].copy_from_slice(&attributes.bits.to_le_bytes());
    value[4..].copy_from_slice(&seconds.to_le_bytes());
    value
}

fn decode(value: &[u8; LEN], len: Result<usize, Errno>) -> DosAttributes {
    let [a, b, c, d, seconds @ ..] = *value;
    if len != Ok(LEN) {
        return DosAttributes::default();
    }
    let seconds = u64::try_from(i64::from_le_bytes(seconds)).ok().map(Duration::from_secs);
    let created = seconds.and_then(|seconds| SystemTime::checked_add(&UNIX_EPOCH, seconds));
    DosAttributes { bits: u32::from_le_bytes([a, b, c, d]), created }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_survive_the_round_trip() {
        for created in [None, Some(UNIX_EPOCH + Duration::from_secs(951_782_400))] {
            let attributes = DosAttributes { bits: 0x2_0006, created };
            assert_eq!(decode(&encode(&attributes), Ok(LEN)), attributes);
        }
        assert_eq!(decode(&[1; LEN], Ok(3)), DosAttributes::default());
        assert_eq!(decode(&[1; LEN], Err(Errno::NODATA)), DosAttributes::default());
    }
}
