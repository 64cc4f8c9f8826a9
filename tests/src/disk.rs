//! File systems of a server's own: small ones, some with a quota, some that break. They go with the server's mount namespace.

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
    /// ext4 in a file, which outlives the server.
    Ext4(Arc<Scratch>),
    /// The file system of a block device.
    Device(String),
    /// btrfs in a file, with a quota in bytes.
    Quota(Arc<Scratch>, u64),
}

/// The file of a file system.
const IMAGE: &str = "image";
/// Bytes of it, none of which are taken before they are used; btrfs wants 109 MiB.
const IMAGE_BYTES: u64 = 256 << 20;

impl Disk {
    /// What the machine must have for [`Self::ext4`].
    pub const EXT4: &[Need] = &[
        Need::Root,
        Need::Program("unshare"),
        Need::Program("nsenter"),
        Need::Program("mkfs.ext4"),
        Need::File("/dev/loop-control"),
    ];
    /// What the machine must have for [`Self::with_quota`].
    pub const QUOTA: &[Need] = &[
        Need::Root,
        Need::Program("unshare"),
        Need::Program("nsenter"),
        Need::Program("mkfs.btrfs"),
        Need::File("/dev/loop-control"),
    ];

    /// Makes an ext4.
    pub fn ext4() -> io::Result<Self> {
        Ok(Self::Ext4(image(&["mkfs.ext4", "-q", "-F"])?))
    }

    /// Creates a btrfs with this quota in bytes.
    pub fn with_quota(bytes: u64) -> io::Result<Self> {
        Ok(Self::Quota(image(&["mkfs.btrfs", "-q"])?, bytes))
    }

    /// What a shell in a mount namespace of its own has to do, so that it is at `at`.
    pub fn mount(&self, at: &str) -> String {
        match self {
            Self::Memory(bytes) => format!("mount -t tmpfs -o size={bytes},mode=1777 tmpfs {at}"),
            Self::Ext4(image) => format!("mount -o loop {} {at} && chmod 1777 {at}", image.file(IMAGE)),
            Self::Device(device) => format!("mount {device} {at} && chmod 1777 {at}"),
            Self::Quota(image, bytes) => format!(
                "mount -o loop {} {at} && chmod 1777 {at} && btrfs quota enable {at} \
                 && btrfs qgroup limit {bytes} {at} >/dev/null",
                image.file(IMAGE)
            ),
        }
    }

    /// Tries whether the machine's owner lets us mount it.
    pub fn try_mount(&self) -> io::Result<()> {
        let place = Scratch::new("mount")?;
        let script = self.mount(&place.path().display().to_string());
        run(&["unshare", "--mount", "sh", "-c", &script], &[]).map(drop)
    }

    /// Runs a shell script where a server sees its disk at `directory`, which is `/proc/PID/root/PATH`; its `$0` is the path.
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

/// Programs of file systems stand where only root looks.
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin"
}
