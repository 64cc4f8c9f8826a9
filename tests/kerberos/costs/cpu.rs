//! CPU time of processes.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use sharebench_tests::program::poll;

/// Nanoseconds of a tick of the kernel's counters: 100 per second on every current system (proc(5)).
const TICK_NS: f64 = 1e7;

/// CPU time of a process and of its ended children, in nanoseconds.
pub fn spent_ns(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name of the program may contain spaces; the fields begin after its parenthesis, with the third.
    let (_, fields) = text.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // utime, stime, cutime, cstime.
    fields[11..15].iter().map(|ticks| ticks.parse::<f64>().unwrap() * TICK_NS).sum()
}

/// A group of processes whose CPU time the kernel sums, ended ones and their children included.
pub struct CpuGroup(PathBuf);

impl CpuGroup {
    /// A group without members below the mount point of cgroups(7), version 2, whose groups count CPU time without a
    /// controller.
    pub fn make() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let of_version_2 = |line: &&str| line.split(' ').nth(2) == Some("cgroup2");
        let mount = mounts.lines().find(of_version_2).and_then(|line| line.split(' ').nth(1));
        let mount = mount.ok_or_else(|| io::Error::other("no cgroups of version 2 are mounted"))?;
        let path = PathBuf::from(mount).join(format!("sharebench-cpu-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// A shell script that joins the group and then executes its arguments.
    pub fn script(&self) -> String {
        format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display())
    }

    /// CPU time of its members so far, in nanoseconds.
    pub fn spent_ns(&self) -> f64 {
        let text = fs::read_to_string(self.0.join("cpu.stat")).unwrap();
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        usage.unwrap().parse::<f64>().unwrap() * 1e3
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // Processes take a moment to exit.
        poll(Duration::from_secs(5), || fs::remove_dir(&self.0).is_ok());
    }
}
