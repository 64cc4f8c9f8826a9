//! Control events of Windows, which the system delivers on a thread of its own.

use std::io::{self, PipeWriter, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::SystemInformation::GetTickCount64;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};

use super::State;
use crate::exit;

/// The system ends the process when the handler of a closed console returns, and after 5 s in any case. The handler
/// waits, so that the main thread can clean up.
const CLOSING: Duration = Duration::from_secs(5);

/// What the handler uses until the process ends.
struct Receiver {
    state: Arc<State>,
    wake: Mutex<PipeWriter>,
}

static RECEIVER: OnceLock<Receiver> = OnceLock::new();

/// Counts Ctrl-C, Ctrl-Break and the end of console or session from now on, each with a byte to `wake`.
pub(super) fn register(state: &Arc<State>, wake: PipeWriter) -> io::Result<()> {
    RECEIVER.get_or_init(|| Receiver { state: Arc::clone(state), wake: Mutex::new(wake) });
    // SAFETY: the handler is a function of this process, which stays.
    let done = unsafe { SetConsoleCtrlHandler(Some(handle), 1) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Handles an event; 1 where nothing else shall.
unsafe extern "system" fn handle(event: u32) -> i32 {
    let Some(receiver) = RECEIVER.get() else { return 0 };
    let ends_process = match event {
        CTRL_C_EVENT | CTRL_BREAK_EVENT => false,
        CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT => true,
        _ => return 0,
    };
    receiver.state.add(monotonic_ms());
    // A full pipe has woken the thread already.
    let _ = receiver.wake.lock().unwrap_or_else(PoisonError::into_inner).write_all(&[0]);
    if ends_process {
        std::thread::sleep(CLOSING);
    }
    1
}

pub(super) fn monotonic_ms() -> u64 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { GetTickCount64() }
}

/// Ends the process at once.
pub(super) fn exit_stopped() -> ! {
    // SAFETY: the pseudo handle is always valid. Exit handlers could wait for the thread that hangs.
    unsafe { TerminateProcess(GetCurrentProcess(), u32::from(exit::STOPPED)) };
    std::process::abort()
}
