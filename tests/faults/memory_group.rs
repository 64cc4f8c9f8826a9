//! A memory limit for a program and its child processes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sharebench_tests::program::poll;

/// Mount point of the memory controller (cgroups(7), version 1).
const MEMORY_GROUPS: &str = "/sys/fs/cgroup/memory";

/// A group of processes with a small memory limit; the kernel kills processes above it.
pub struct MemoryGroup(std::path::PathBuf);

impl MemoryGroup {
    /// Creates a group without members, if this machine allows it.
    pub fn make() -> std::io::Result<Self> {
        let path = Path::new(MEMORY_GROUPS).join(format!("sharebench-test-{}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self(path);
        fs::write(group.0.join("memory.limit_in_bytes"), (64 << 20).to_string())?;
        Ok(group)
    }

    /// Returns a shell script that joins the group and then executes its arguments.
    pub fn script(&self) -> String {
        format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Killed processes take a moment to exit.
        poll(Duration::from_secs(5), || fs::remove_dir(&self.0).is_ok());
    }
}
