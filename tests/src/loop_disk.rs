//! A disk for one test: a loop device with a file system, whose reads the kernel counts.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::need::Need;
use crate::program::{PATIENCE, Program, run};
use crate::scratch::Scratch;

/// A loop device over a file, with direct I/O on that file. The fields are dropped in this order.
#[derive(Debug)]
pub struct LoopDisk {
    device: String,
    _slow: Option<Program>,
    _image: Scratch,
}

impl LoopDisk {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 5] = [
        Need::Root,
        Need::Disk,
        Need::File("/dev/loop-control"),
        Need::Program("losetup"),
        Need::Program("mkfs.ext4"),
    ];

    /// Additional requirements of a slow disk.
    pub const SLOW: [Need; 2] = [Need::File("/dev/fuse"), Need::Program("python3")];

    /// Makes a disk of this size in bytes with an empty ext4 on it, of which the kernel reads at most `read_ahead` bytes at once
    /// beyond the request. Each read takes `delay` longer than on the disk of the machine.
    pub fn make(bytes: u64, read_ahead: u64, delay: Duration) -> io::Result<Self> {
        let image = Scratch::new("disk")?;
        let path = image.file("image");
        fs::File::create(&path)?.set_len(bytes)?;
        run(&["mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", &path], &[])?;
        let (device, slow) = if delay.is_zero() {
            (run(&["losetup", "--find", "--show", "--direct-io=on", &path], &[])?, None)
        } else {
            let slow = slow_down(&image, &path, delay)?;
            (slow.output().split(' ').nth(1).unwrap_or_default().to_owned(), Some(slow))
        };
        let disk = Self { device: device.trim().to_owned(), _slow: slow, _image: image };
        fs::write(disk.kernel("queue/read_ahead_kb"), (read_ahead >> 10).to_string())?;
        Ok(disk)
    }

    /// Returns the path of its block device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the path of the kernel's read counter.
    pub fn counter(&self) -> PathBuf {
        self.kernel("stat")
    }

    /// Returns its major and minor number in the form that control groups use.
    pub fn number(&self) -> io::Result<String> {
        Ok(fs::read_to_string(self.kernel("dev"))?.trim().to_owned())
    }

    /// Returns the path of the statistics of the kernel.
    fn kernel(&self, what: &str) -> PathBuf {
        Path::new("/sys/block").join(self.device.trim_start_matches("/dev/")).join(what)
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        // While a server still has it mounted, the kernel detaches it with the last mount.
        let _ = run(&["losetup", "--detach", &self.device], &[]);
    }
}

/// Mounts a file system between the file and the loop device that delays each read.
fn slow_down(image: &Scratch, path: &str, delay: Duration) -> io::Result<Program> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("slow-disk.py").display().to_string();
    let folder = image.directory("slow")?.display().to_string();
    let delay = delay.as_micros().to_string();
    let line = ["unshare", "--mount", "python3", &script, path, &folder, &delay];
    let mut slow = Program::start(&line, &[], &image.path().join("slow.log"))?;
    slow.wait_for_output("device /dev/loop", PATIENCE)?;
    Ok(slow)
}
