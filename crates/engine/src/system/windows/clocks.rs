//! Clocks of Windows.

use std::sync::OnceLock;

use sharebench_model::CpuTime;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::Media::{TIMERR_NOERROR, timeBeginPeriod};
use windows_sys::Win32::System::Performance::QueryPerformanceFrequency;
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

/// The last part of an exact wait, for which the runtime's timers are too coarse: a completion port wakes at ticks of the
/// system, which are 15.6 ms apart unless a process has requested shorter ones.
pub(crate) const TICKS_NS: u64 = 32_000_000;

/// CPU time of the calling thread. The system adds to it at its ticks, so that short spans may show nothing.
pub(crate) fn thread_cpu() -> CpuTime {
    let mut times = [FILETIME::default(); 4];
    let [made, ended, kernel, user] = &mut times;
    // SAFETY: the pseudo handle is always valid, and the four structures are live.
    let done = unsafe {
        GetThreadTimes(GetCurrentThread(), &raw mut *made, &raw mut *ended, &raw mut *kernel, &raw mut *user)
    };
    if done == 0 {
        return CpuTime::default();
    }
    let nanos =
        |time: &FILETIME| (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) * 100;
    CpuTime { user_ns: nanos(user), kernel_ns: nanos(kernel) }
}

/// The period of the performance counter, which [`std::time::Instant`] reads. It is fixed while the system runs.
pub(crate) fn clock_resolution_ns() -> f64 {
    let mut per_second = 0;
    // SAFETY: the number is live; the call cannot fail since Windows XP.
    unsafe { QueryPerformanceFrequency(&raw mut per_second) };
    1e9 / (per_second.max(1) as f64)
}

/// Requests ticks of 1 ms for this process, with which the runtime's waits end earlier. It returns false when the system
/// rejects the request.
pub fn precise_timers() -> bool {
    static ACCEPTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the call takes a number. The request ends with the process.
    *ACCEPTED.get_or_init(|| unsafe { timeBeginPeriod(1) } == TIMERR_NOERROR)
}
