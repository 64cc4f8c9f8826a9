//! Clocks of Linux.

use sharebench_model::CpuTime;

/// The last part of an exact wait, for which the runtime's timers are too coarse: they tick once per millisecond, their
/// wait is rounded up to one more, and the thread wakes late on top of that. With 2 ms, one start in a hundred was most
/// of a millisecond late.
pub(crate) const TICKS_NS: u64 = 4_000_000;

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> CpuTime {
    // SAFETY: getrusage writes the whole struct it is given; zeroed is a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let nanos = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    CpuTime { user_ns: nanos(usage.ru_utime), kernel_ns: nanos(usage.ru_stime) }
}

/// The resolution that the kernel states for its monotonic clock. It is the same in every process, so that a resumed
/// run makes the same decisions.
pub(crate) fn clock_resolution_ns() -> f64 {
    // SAFETY: clock_getres writes the timespec it is given; zeroed is a valid one.
    let resolution = unsafe {
        let mut resolution: libc::timespec = std::mem::zeroed();
        libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut resolution);
        resolution
    };
    resolution.tv_sec as f64 * 1e9 + resolution.tv_nsec as f64
}
