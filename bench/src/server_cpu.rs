//! CPU time of a server during a measurement, read from its own processes.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::sample::Sample;

/// A reading counts once it has not changed for this long: a process of smbd ends after its client has left.
const SETTLED: Duration = Duration::from_millis(300);
/// Longest wait for that.
const PATIENCE: Duration = Duration::from_secs(10);
/// Fields of `/proc/PID/stat` after the name of the program: the parent, and the times of user and kernel of the process
/// and of its children that have ended.
const PARENT: usize = 1;
const TIMES: std::ops::Range<usize> = 11..15;

/// Runs a client, and replaces the CPU time of its sample by that of the server and the processes that it has started.
pub fn of_server(server: u32, client: impl FnOnce() -> Result<Sample, Failure>) -> Result<Sample, Failure> {
    let before = settled(server)?;
    let sample = client()?;
    let used = settled(server)?.saturating_sub(before);
    Ok(Sample { cpu_ns: used.as_nanos() as u64, ..sample })
}

/// Waits until the server is idle.
fn settled(server: u32) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut last = (read(server)?, Instant::now());
    while last.1.elapsed() < SETTLED && start.elapsed() < PATIENCE {
        std::thread::sleep(SETTLED / 10);
        let now = read(server)?;
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
    Ok(last.0)
}

/// CPU time of a process, of its children that have ended, and of those that run.
fn read(server: u32) -> Result<Duration, Failure> {
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may have ended meanwhile.
        let Some(stat) = stat(&entry.path()) else { continue };
        if pid == server || stat.get(PARENT) == Some(&u64::from(server)) {
            ticks += stat.get(TIMES).unwrap_or_default().iter().sum::<u64>();
        }
    }
    // SAFETY: sysconf has no preconditions.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if per_second <= 0 {
        return Err("the length of a clock tick is unknown".into());
    }
    Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// The numbers of a process after its name, which is in parentheses; a field that is no number is 0.
fn stat(process: &Path) -> Option<Vec<u64>> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect())
}
