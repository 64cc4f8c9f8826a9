//! The mount of a directory: file system type, mount point, source and options.

use std::path::Path;

use sharebench_model::{Fact, TargetFacts};

/// A line of `/proc/self/mountinfo` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub point: String,
    pub kind: String,
    pub source: String,
    pub options: String,
}

impl Mount {
    /// The mount that holds `path`, which must be absolute and without symbolic links.
    pub fn new(path: &Path, mountinfo: &str) -> Option<Self> {
        let mounts = mountinfo.lines().filter_map(Self::parse);
        // The longest mount point above the path; of equal ones the last, which is the topmost mount.
        mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.len())
    }

    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(4);
        let point = left.next()?;
        let options = left.next()?;
        let mut right = right.split(' ');
        let kind = right.next()?;
        let source = right.next()?;
        let more = right.next().unwrap_or_default();
        let more = more.split(',').filter(|option| !options.split(',').any(|known| known == *option));
        let all = options.split(',').chain(more).filter(|option| !secret(option));
        Some(Self {
            point: unescape(point),
            kind: kind.to_owned(),
            source: unescape(source),
            options: unescape(&all.collect::<Vec<_>>().join(",")),
        })
    }

    /// True if the files are on another machine.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.kind.as_str())
    }

    pub fn write_facts(&self, facts: &mut TargetFacts) {
        facts.state(Fact::Access, if self.is_remote() { "mounted" } else { "local" });
        facts.state(Fact::FileSystem, self.kind.clone());
        facts.state(Fact::MountPoint, self.point.clone());
        facts.state(Fact::MountSource, self.source.clone());
        facts.state(Fact::MountOptions, self.options.clone());
    }
}

/// File systems of other machines, as the kernel or their mount helpers name them.
const REMOTE: [&str; 17] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ncpfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.glusterfs",
    "fuse.davfs2",
    "fuse.smbnetfs",
];

/// Kernels do not show passwords here; a file system in user space might.
fn secret(option: &str) -> bool {
    option.split('=').next().is_some_and(|key| key.starts_with("pass"))
}

/// Space, tab, newline and backslash are written as three octal digits.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| byte == b'\\');
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro
30 22 0:40 / /mnt/a\\040share rw,nosuid shared:7 master:2 - cifs //nas/public rw,vers=3.1.1,password=x,username=u
31 22 0:41 / /mnt rw - tmpfs tmpfs rw,size=1k
32 31 0:42 / /mnt rw - nfs nas:/export rw,vers=3,addr=10.0.0.1
broken line
";

    #[test]
    fn the_innermost_and_topmost_mount_counts() {
        let share = Mount::new(Path::new("/mnt/a share/dir"), INFO).unwrap();
        assert_eq!((share.point.as_str(), share.kind.as_str()), ("/mnt/a share", "cifs"));
        assert_eq!(share.options, "rw,nosuid,vers=3.1.1,username=u");
        assert!(share.is_remote() && !Mount::new(Path::new("/"), INFO).unwrap().is_remote());
        assert_eq!(Mount::new(Path::new("/mnt/other"), INFO).unwrap().source, "nas:/export");
        assert_eq!(Mount::new(Path::new("/mntx"), INFO).unwrap().kind, "ext4");
    }
}
