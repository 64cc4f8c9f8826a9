//! The process that measures a run, and whether it is alive.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux::{boot, started};
#[cfg(target_os = "macos")]
use macos::{boot, started};
#[cfg(windows)]
use windows::{boot, started};

/// The process that measures a run. Start time and boot distinguish it from later processes with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub pid: u32,
    /// Start, in units of the system: clock ticks since boot on Linux, 100 ns since 1601 on Windows; 0 where the system does not report it.
    pub started: i64,
    /// The boot's identity; empty where the system does not report it.
    pub boot: String,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid).unwrap_or(0), boot: boot() }
    }

    /// True while this process runs on this machine. Processes of another machine or container are invisible and count as
    /// ended.
    pub fn is_alive(&self) -> bool {
        // A process number alone may belong to another program by now; number, start time and boot together do
        // not.
        self.boot == boot() && started(self.pid) == Some(self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_predecessor_is_not() {
        let this = Owner::this();
        assert!(this.is_alive() && this.started > 0);
        assert!(!Owner { started: this.started - 1, ..this.clone() }.is_alive());
        assert!(!Owner { boot: "another".into(), ..this }.is_alive());
    }
}
