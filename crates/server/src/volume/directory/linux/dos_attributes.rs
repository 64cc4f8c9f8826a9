//! Attributes of DOS in an extended attribute of a file, because Unix has no place for them.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{Mode, XattrFlags, fchmod, fgetxattr, fsetxattr, fstat, lgetxattr};
use rustix::io::Errno;

use crate::DosAttributes;
use crate::volume::directory::linux::status::{seconds_of, time_of};

/// Name of the extended attribute.
const NAME: &str = "user.sharebench.dos";
/// Bytes of its value: the bits, the seconds since 1970 and the nanoseconds after them, little-endian.
const LEN: usize = 4 + 8 + 4;
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
    let (seconds, nanoseconds) = attributes.created.map_or((UNSET, 0), seconds_of);
    let mut value = [0; LEN];
    value[..4].copy_from_slice(&attributes.bits.to_le_bytes());
    value[4..12].copy_from_slice(&seconds.to_le_bytes());
    value[12..].copy_from_slice(&nanoseconds.to_le_bytes());
    value
}

fn decode(value: &[u8; LEN], len: Result<usize, Errno>) -> DosAttributes {
    if len != Ok(LEN) {
        return DosAttributes::default();
    }
    let bits = value.first_chunk().map_or(0, |bits| u32::from_le_bytes(*bits));
    let seconds = value[4..].first_chunk().map_or(UNSET, |seconds| i64::from_le_bytes(*seconds));
    let nanoseconds = value.last_chunk().map_or(0, |nanoseconds| u32::from_le_bytes(*nanoseconds));
    DosAttributes { bits, created: (seconds != UNSET).then(|| time_of(seconds, nanoseconds)) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn attributes_survive_the_round_trip() {
        let leap_day = Duration::new(951_782_400, 123_456_700);
        let before =
            [Duration::from_secs(1), Duration::new(2_147_483_648, 100)].map(|distance| UNIX_EPOCH - distance);
        for created in [None, Some(UNIX_EPOCH), Some(UNIX_EPOCH + leap_day), Some(before[0]), Some(before[1])]
        {
            let attributes = DosAttributes { bits: 0x2_0006, created };
            assert_eq!(decode(&encode(&attributes), Ok(LEN)), attributes);
        }
        assert_eq!(decode(&[1; LEN], Ok(3)), DosAttributes::default());
        assert_eq!(decode(&[1; LEN], Err(Errno::NODATA)), DosAttributes::default());
    }
}
