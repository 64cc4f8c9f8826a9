//! File systems for one server: small ones, some with a quota, some that break. They end with the mount namespace of the
//! server.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::need::Need;
use crate::program::run;
use crate::scratch::Scratch;

/// The file system of a server's directory; clones share it.
#[derive(Debug, Clone)]
pub enum Disk {
    /// A tmpfs of this number of bytes.
    Memory(u64),
    /// A tmpfs of this number of inodes.
    Inodes(u64),
    /// ext4 in a file, which outlives the server.
    Ext4(Arc<Scratch>),
    /// The file system of a block device.
    Device(String),
    /// btrfs in a file, with a quota in bytes.
    Quota(Arc<Scratch>, u64),
}

/// The file of a file system.
const IMAGE: &str = "image";
/// Size of the sparse file; btrfs needs 109 MiB.
const IMAGE_BYTES: u64 = 256 << 20;

impl Disk {
    /// Requirements of the machine for [`Self::ext4`].
    pub const EXT4: &[Need] = &[
        Need::Root,
        Need::Program("unshare"),
        Need::Program("nsenter"),
        Need::Program("mkfs.ext4"),
        Need::File("/dev/loop-control"),
    ];
    /// Requirements of the machine for [`Self::with_quota`].
    pub const QUOTA: &[Need] = &[
        Need::Root,
        Need::Program("unshare"),
        Need::Program("nsenter"),
        Need::Program("mkfs.btrfs"),
        Need::File("/dev/loop-control"),
    ];

    /// Creates an ext4.
    pub fn ext4() -> io::Result<Self> {
        Ok(Self::Ext4(image(&["mkfs.ext4", "-q", "-F"])?))
    }

    /// Creates a btrfs with this quota in bytes.
    pub fn with_quota(bytes: u64) -> io::Result<Self> {
        Ok(Self::Quota(image(&["mkfs.btrfs", "-q"])?, bytes))
    }

    /// Returns the shell commands that mount the file system at `at` in a new mount namespace.
    pub fn mount(&self, at: &str) -> String {
        match self {
            Self::Memory(bytes) => format!("mount -t tmpfs -o size={bytes},mode=1777 tmpfs {at}"),
            Self::Inodes(count) => format!("mount -t tmpfs -o nr_inodes={count},mode=1777 tmpfs {at}"),
            Self::Ext4(image) => format!("mount -o loop {} {at} && chmod 1777 {at}", image.file(IMAGE)),
            Self::Device(device) => format!("mount {device} {at} && chmod 1777 {at}"),
            Self::Quota(image, bytes) => format!(
                "mount -o loop {} {at} && chmod 1777 {at} && btrfs quota enable {at} \
                 && btrfs qgroup limit {bytes} {at} >/dev/null",
                image.file(IMAGE)
            ),
        }
    }

    /// Tries to mount the file system, which some containers do not allow.
    pub fn try_mount(&self) -> io::Result<()> {
        let place = Scratch::new("mount")?;
        let script = self.mount(&place.path().display().to_string());
        run(&["unshare", "--mount", "sh", "-c", &script], &[]).map(drop)
    }

    /// Runs a shell script in the mount namespace of a server whose disk is at `directory`, a path `/proc/PID/root/PATH`. The
    /// script gets the path as `$0`.
    pub fn inside(directory: &Path, script: &str) -> io::Result<String> {
        let text = directory.display().to_string();
        let place = text.strip_prefix("/proc/").and_then(|rest| rest.split_once("/root"));
        let (pid, path) = place.ok_or_else(|| io::Error::other(format!("{text}: no other's directory")))?;
        run(&["nsenter", "--target", pid, "--mount", "sh", "-c", script, path], &[])
    }
}

fn image(make: &[&str]) -> io::Result<Arc<Scratch>> {
    let scratch = Scratch::new("disk")?;
    let image = scratch.file(IMAGE);
    File::create(&image)?.set_len(IMAGE_BYTES)?;
    run(&[make, &[image.as_str()]].concat(), &[("PATH", &search_path())])?;
    Ok(Arc::new(scratch))
}

/// Adds the sbin directories, which contain the programs of file systems, to the search path.
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin"
}
