//! Little memory for a program and what it starts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sharebench_tests::program::poll;

/// Where groups of processes get their memory (cgroups(7), version 1).
const MEMORY_GROUPS: &str = "/sys/fs/cgroup/memory";

/// A group of processes that may use little memory; whoever uses more is killed.
pub struct MemoryGroup(std::path::PathBuf);

impl MemoryGroup {
    /// A group without members, where this machine lets us have one.
    pub fn make() -> std::io::Result<Self> {
        let path = Path::new(MEMORY_GROUPS).join(format!("sharebench-test-{}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self(path);
        fs::write(group.0.join("memory.limit_in_bytes"), (64 << 20).to_string())?;
        Ok(group)
    }

    /// Joins the group and goes on with the program.
    pub fn script(&self) -> String {
        format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Its processes end a moment after they were killed.
        poll(Duration::from_secs(5), || fs::remove_dir(&self.0).is_ok());
    }
}
