//! Processes of Windows.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{FILETIME, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

/// Empty: the instant at which a process started distinguishes it across boots as well.
pub(super) fn boot() -> String {
    String::new()
}

/// Instant at which a process that still runs started, in units of 100 ns since 1601.
pub(super) fn started(pid: u32) -> Option<i64> {
    // SAFETY: the call takes numbers; a process that does not exist is a null handle.
    let process = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE, 0, pid) };
    if process.is_null() {
        return None;
    }
    // SAFETY: a fresh handle that nobody else closes.
    let process = unsafe { OwnedHandle::from_raw_handle(process) };
    // A process that has ended exists as long as somebody has it open. SAFETY: the handle is open.
    if unsafe { WaitForSingleObject(process.as_raw_handle(), 0) } != WAIT_TIMEOUT {
        return None;
    }
    let mut times = [FILETIME::default(); 4];
    let [made, ended, kernel, user] = &mut times;
    // SAFETY: the handle is open and the four structures are live.
    let done = unsafe {
        GetProcessTimes(
            process.as_raw_handle(),
            &raw mut *made,
            &raw mut *ended,
            &raw mut *kernel,
            &raw mut *user,
        )
    };
    let started = u64::from(made.dwHighDateTime) << 32 | u64::from(made.dwLowDateTime);
    (done != 0).then_some(started.cast_signed())
}
