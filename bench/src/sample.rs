//! The measurement of one client, and the meter that every Rust client uses.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::shape::Shape;

/// One measurement of one client program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Operations completed.
    pub operations: u64,
    /// Their duration in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the client's process meanwhile, user and kernel, nanoseconds.
    pub cpu_ns: u64,
    /// Peak resident memory of the process in KiB; 0 if it was not measured.
    pub peak_kib: u64,
}

impl Sample {
    /// Operations per second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 * 1e9 / self.wall_ns as f64
    }

    /// CPU time per operation, microseconds.
    pub fn cpu_us(&self) -> f64 {
        self.cpu_ns as f64 / self.operations as f64 / 1e3
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.operations, self.wall_ns, self.cpu_ns, self.peak_kib)
    }
}

impl FromStr for Sample {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers?.as_slice() {
            &[operations, wall_ns, cpu_ns, ref peak @ ..] if operations > 0 && peak.len() <= 1 => {
                let peak_kib = peak.first().copied().unwrap_or(0);
                Ok(Self { operations, wall_ns, cpu_ns, peak_kib })
            }
            _ => Err(format!("a client printed '{}'", text.trim()).into()),
        }
    }
}

/// Returns the CPU time of this process, user and kernel.
pub fn cpu() -> Duration {
    used(libc::RUSAGE_SELF)
}

/// Returns the CPU time of the child processes that have exited.
pub fn cpu_of_children() -> Duration {
    used(libc::RUSAGE_CHILDREN)
}

fn used(whose: libc::c_int) -> Duration {
    // SAFETY: getrusage writes the whole struct it is given; zeroed is a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &raw mut usage);
        usage
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Returns the peak resident memory of this process in KiB. `getrusage` would include that of the parent process.
pub fn peak_kib() -> u64 {
    peak_resident_kib("/proc/self/status")
}

/// Returns the resident memory of this process in KiB.
pub fn rss_kib() -> u64 {
    resident_kib("/proc/self/status")
}

/// Returns the resident memory in KiB of the process with this `status` below `/proc`.
pub fn resident_kib(status: &str) -> u64 {
    status_kib(status, "VmRSS:")
}

/// Returns the peak of the resident memory in KiB of the process with this `status` below `/proc`.
pub fn peak_resident_kib(status: &str) -> u64 {
    status_kib(status, "VmHWM:")
}

fn status_kib(status: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Counts completions from the end of the warm-up to the end of the measured time.
#[derive(Debug)]
pub struct Meter {
    from: Instant,
    until: Instant,
    warm: bool,
    cpu: Duration,
    operations: u64,
    sample: Option<Sample>,
}

impl Meter {
    /// Starts the warm-up.
    pub fn start(shape: &Shape) -> Self {
        let from = Instant::now() + shape.warm_up;
        let warm = shape.warm_up.is_zero();
        Self { from, until: from + shape.measure, warm, cpu: cpu(), operations: 0, sample: None }
    }

    /// Counts one completion at `now`.
    pub fn completed(&mut self, now: Instant) {
        self.operations += 1;
        if !self.warm && now >= self.from {
            self.warm = true;
            self.until = now + (self.until - self.from);
            self.from = now;
            self.cpu = cpu();
            self.operations = 0;
        }
        if now >= self.until && self.sample.is_none() {
            self.sample = Some(Sample {
                operations: self.operations,
                wall_ns: (now - self.from).as_nanos() as u64,
                cpu_ns: cpu().saturating_sub(self.cpu).as_nanos() as u64,
                peak_kib: 0,
            });
        }
    }

    /// Returns true if no further operation may start.
    pub fn is_over(&self) -> bool {
        self.sample.is_some()
    }

    /// Returns the measurement.
    pub fn sample(&self) -> Result<Sample, Failure> {
        self.sample.filter(|sample| sample.operations > 0).ok_or_else(|| "nothing was measured".into())
    }
}
