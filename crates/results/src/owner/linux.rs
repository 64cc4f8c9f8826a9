//! Processes of Linux.

use std::fs;

/// Identity of this boot.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Field 22 of `/proc/PID/stat` (proc(5)); the name in field 2 may hold anything, even parentheses. A
/// process that has ended and was not yet waited for (state Z) counts as ended.
pub(super) fn started(pid: u32) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn boot_has_an_identity() {
        assert!(!super::boot().is_empty());
    }
}
