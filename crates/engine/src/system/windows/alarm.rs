//! A waitable timer as the alarm of a thread.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
    TIMER_ALL_ACCESS, WaitForSingleObject,
};

/// Units of 100 ns, in which Windows sets timers.
const UNIT_NS: u64 = 100;

/// Rings once at the instant for which it was set last; never while it is not set.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedHandle);

impl Alarm {
    /// An alarm that is not set. It has the high resolution of Windows 10 1803 where the system supports it.
    pub(crate) fn new() -> io::Result<Self> {
        Self::with_flags(CREATE_WAITABLE_TIMER_HIGH_RESOLUTION).or_else(|_| Self::with_flags(0))
    }

    fn with_flags(flags: u32) -> io::Result<Self> {
        // SAFETY: a timer without a name and with default security; the handle is ours.
        let timer = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), flags, TIMER_ALL_ACCESS) };
        if timer.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh handle that nobody else closes.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(timer) }))
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Sets it to ring after `nanos`, whatever it was set to.
    pub(crate) fn set(&self, nanos: u64) -> io::Result<()> {
        // A negative time is relative. It is rounded up, because a wait must not end early.
        let due = -nanos.div_ceil(UNIT_NS).cast_signed().max(1);
        // SAFETY: the handle is open and the time live; there is no completion routine.
        let done = unsafe { SetWaitableTimer(self.handle(), &raw const due, 0, None, ptr::null(), 0) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until it rings.
    pub(crate) fn wait(&self) {
        // SAFETY: the handle is open while it is borrowed.
        unsafe { WaitForSingleObject(self.handle(), INFINITE) };
    }
}
