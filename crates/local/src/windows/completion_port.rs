//! A completion port: where overlapped operations of a session's files end.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::Storage::FileSystem::SetFileCompletionNotificationModes;
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};
use windows_sys::Win32::System::WindowsProgramming::{
    FILE_SKIP_COMPLETION_PORT_ON_SUCCESS, FILE_SKIP_SET_EVENT_ON_HANDLE,
};

use crate::error_code::ErrorCode;

/// Completions of one call.
const BATCH: usize = 64;

/// The completion port of one session. One thread waits at it.
#[derive(Debug)]
pub(crate) struct CompletionPort(OwnedHandle);

impl CompletionPort {
    pub fn new() -> Result<Self, ErrorCode> {
        // SAFETY: without a file the call makes a new port, whose handle is ours.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, ptr::null_mut(), 0, 1) };
        if port.is_null() {
            return Err(ErrorCode::last());
        }
        // SAFETY: a fresh handle that nobody else closes.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(port) }))
    }

    /// Adds a file. Returns true if an operation that succeeds at once needs no completion, which saves a call.
    pub fn add(&self, file: &OwnedHandle) -> Result<bool, ErrorCode> {
        let handle = file.as_raw_handle();
        // SAFETY: both handles are open.
        if unsafe { CreateIoCompletionPort(handle, self.0.as_raw_handle(), 0, 0) }.is_null() {
            return Err(ErrorCode::last());
        }
        let modes = FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE;
        // SAFETY: the handle is open.
        Ok(unsafe { SetFileCompletionNotificationModes(handle, modes as u8) } != 0)
    }

    /// Waits for completions for at most `millis`, and passes the structure of each to `each`. Returns the number of
    /// completions: 0 when the time is over.
    pub fn wait(&self, millis: u32, mut each: impl FnMut(*mut OVERLAPPED)) -> Result<usize, ErrorCode> {
        let mut entries = [OVERLAPPED_ENTRY::default(); BATCH];
        let mut taken = 0;
        // SAFETY: the port is open, and the call writes at most as many entries as there are.
        let done = unsafe {
            GetQueuedCompletionStatusEx(
                self.0.as_raw_handle(),
                entries.as_mut_ptr(),
                BATCH as u32,
                &raw mut taken,
                millis,
                0,
            )
        };
        if done == 0 {
            return match ErrorCode::last() {
                ErrorCode(WAIT_TIMEOUT) => Ok(0),
                code => Err(code),
            };
        }
        let taken = (taken as usize).min(BATCH);
        entries.iter().take(taken).for_each(|entry| each(entry.lpOverlapped));
        Ok(taken)
    }
}
