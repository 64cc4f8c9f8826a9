//! Linux.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use super::MachineFacts;

/// Fills a buffer with random bytes that nobody can guess.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    if getrandom(&mut *bytes, GetRandomFlags::empty())? < bytes.len() {
        return Err(io::Error::other("getrandom returned fewer bytes than requested"));
    }
    Ok(())
}

/// Facts about this machine, from files of the kernel.
pub fn machine_facts() -> MachineFacts {
    let first_line = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    };
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map(|rest| rest.trim_matches([' ', '\t', ':']).to_owned())
    });
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")).map(|rest| rest.trim().to_owned())
    });
    MachineFacts {
        kernel: first_line("/proc/sys/kernel/osrelease"),
        cpu,
        memory,
        load_average: first_line("/proc/loadavg"),
    }
}
