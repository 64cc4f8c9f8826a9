//! A control group that limits memory and read rate of the processes of a server.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io, process};

use crate::program::poll;

/// A control group. Dropping it removes the group, after its processes have exited.
#[derive(Debug)]
pub struct ControlGroup {
    /// The directories of its controllers; one on a machine with the unified hierarchy.
    places: Vec<PathBuf>,
    unified: bool,
}

impl ControlGroup {
    /// Creates a group limited to `bytes` of memory, including its page cache. The error names what this machine does not allow.
    pub fn make(memory: u64) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sharebench-test-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = Path::new("/sys/fs/cgroup");
        let unified = root.join("cgroup.controllers").exists();
        let places = if unified {
            fs::write(root.join("cgroup.subtree_control"), "+memory +io")?;
            vec![root.join(name)]
        } else {
            vec![root.join("memory").join(&name), root.join("blkio").join(&name)]
        };
        let group = Self { places, unified };
        group.places.iter().try_for_each(fs::create_dir)?;
        let limit = if unified { "memory.max" } else { "memory.limit_in_bytes" };
        group.set(0, limit, &memory.to_string())?;
        Ok(group)
    }

    /// Moves a process with all of its threads to the group. Its later child processes belong to the group.
    pub fn take(&self, pid: u32) -> io::Result<()> {
        (0..self.places.len()).try_for_each(|place| self.set(place, "cgroup.procs", &pid.to_string()))
    }

    /// Limits its reads from a block device (major and minor number) to this number of bytes per second.
    pub fn throttle(&self, device: &str, bytes_per_s: u64) -> io::Result<()> {
        if self.unified {
            self.set(0, "io.max", &format!("{device} rbps={bytes_per_s}"))
        } else {
            self.set(1, "blkio.throttle.read_bps_device", &format!("{device} {bytes_per_s}"))
        }
    }

    fn set(&self, place: usize, what: &str, value: &str) -> io::Result<()> {
        let path = self.places[place].join(what);
        fs::write(&path, value).map_err(|error| {
            io::Error::new(error.kind(), format!("{} does not take '{value}': {error}", path.display()))
        })
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for place in &self.places {
            // Processes that were just killed take a moment to leave.
            poll(Duration::from_secs(5), || fs::remove_dir(place).is_ok());
        }
    }
}
