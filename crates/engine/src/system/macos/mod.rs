//! macOS. Nobody has measured with it yet; what is not known here is absent.

mod alarm;

use std::path::Path;

use sharebench_model::CpuTime;

pub(crate) use alarm::Alarm;

/// The last part of an exact wait, for which the runtime's timers of 1 ms are too coarse.
pub(crate) const TICKS_NS: u64 = 4_000_000;

/// CPU time of the calling thread (`thread_info` of Mach); zero if the system does not report it.
pub(crate) fn thread_cpu() -> CpuTime {
    // SAFETY: zeros are valid for a structure of integers, whose length in words the call gets and respects.
    let info = unsafe {
        let mut info: libc::thread_basic_info = std::mem::zeroed();
        let mut words = libc::THREAD_BASIC_INFO_COUNT;
        #[expect(
            deprecated,
            reason = "libc names a crate for Mach instead, which would be another dependency"
        )]
        let port = libc::mach_thread_self();
        libc::thread_info(port, libc::THREAD_BASIC_INFO as u32, (&raw mut info).cast(), &raw mut words);
        info
    };
    let nanos =
        |time: libc::time_value_t| time.seconds as u64 * 1_000_000_000 + time.microseconds as u64 * 1_000;
    CpuTime { user_ns: nanos(info.user_time), kernel_ns: nanos(info.system_time) }
}

/// The resolution that the system states for the clock of [`std::time::Instant`].
pub(crate) fn clock_resolution_ns() -> f64 {
    // SAFETY: clock_getres writes the timespec it is given; zeroed is a valid one.
    let resolution = unsafe {
        let mut resolution: libc::timespec = std::mem::zeroed();
        libc::clock_getres(libc::CLOCK_UPTIME_RAW, &raw mut resolution);
        resolution
    };
    resolution.tv_sec as f64 * 1e9 + resolution.tv_nsec as f64
}

/// False: this system has no timer slack that a thread may reduce.
pub fn precise_timers() -> bool {
    false
}

/// Not known: the server of the mount that holds a path.
pub(crate) fn server_of_path(_: &Path) -> Option<String> {
    None
}
