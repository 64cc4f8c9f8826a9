//! The process that measures a run, and whether it is alive.

use std::fs;

/// The process that measures a run. Start time and boot distinguish it from later processes with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub pid: u32,
    /// Start in clock ticks since boot; 0 where the system does not report it.
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

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Field 22 of `/proc/PID/stat` (proc(5)); the name in field 2 may hold anything, even parentheses. A
/// process that has ended and was not yet waited for (state Z) counts as ended.
fn started(pid: u32) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_its_predecessor_is_not() {
        let this = Owner::this();
        assert!(this.is_alive() && this.started > 0 && !this.boot.is_empty());
        assert!(!Owner { started: this.started - 1, ..this.clone() }.is_alive());
        assert!(!Owner { boot: "another".into(), ..this }.is_alive());
    }
}
