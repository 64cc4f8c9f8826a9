//! CPU time of processes.

use std::fs;

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
