//! The owner of working directories.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::beneath::{NO_LINKS, Status};
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::process::geteuid;
use sharebench_target::DIRECTORY_PREFIX;

/// True if the owner of a file is the calling user, as the file system of `root` sees it: servers map users to others
/// (`root_squash`), and mounts may give one owner to all files (`uid=`).
pub(crate) fn is_caller(root: BorrowedFd<'_>, owner: u32) -> bool {
    owner == geteuid().as_raw() || own_files(root) == Some(owner)
}

/// The owner that the file system gives to a new file of the calling user. The descriptor of the new file states it, so
/// that nobody can exchange the file before it is examined.
fn own_files(root: BorrowedFd<'_>) -> Option<u32> {
    let unnamed = openat(root, c".", OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::RUSR);
    if let Ok(file) = unnamed {
        return Status::from_file(file.as_fd()).ok().map(|status| status.owner);
    }
    // Network file systems have no files without a name.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("{DIRECTORY_PREFIX}owner-{}-{now:x}", std::process::id());
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | NO_LINKS;
    let file = openat(root, name.as_str(), flags, Mode::RUSR | Mode::WUSR).ok()?;
    let owner = Status::from_file(file.as_fd()).ok().map(|status| status.owner);
    // It is empty, so one that cannot be removed does no harm.
    let _ = unlinkat(root, name.as_str(), AtFlags::empty());
    owner
}

/// The message about a directory of another user.
pub(crate) fn foreign(name: &str, owner: u32) -> String {
    format!(
        "'{name}' belongs to {}, not to the calling user ({}); its owner can remove it with sharebench clean",
        described(owner),
        described(geteuid().as_raw())
    )
}

/// `alice (user id 1001)`, or the number alone.
fn described(id: u32) -> String {
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    match name {
        Some(name) => format!("{name}, user id {id}"),
        None => format!("user id {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_belongs_to_the_caller_and_a_message_names_both_users() {
        let root = std::fs::File::open(std::env::temp_dir()).unwrap();
        assert_eq!(own_files(root.as_fd()), Some(geteuid().as_raw()));
        let other = geteuid().as_raw() + 12_345;
        assert!(!is_caller(root.as_fd(), other));
        let text = foreign(".sharebench-1-0", other);
        assert!(text.contains(&format!("user id {other}")) && text.contains("sharebench clean"), "{text}");
    }
}
