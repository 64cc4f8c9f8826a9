//! Windows.

use std::fs::OpenOptions;

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Memory that is assumed where the system does not report it.
const ASSUMED_BYTES: u64 = 2 << 30;

/// Bytes of memory of this machine.
pub(crate) fn machine_memory() -> u64 {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the structure states its own length, which is all that the call writes.
    let done = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    if done == 0 { ASSUMED_BYTES } else { status.ullTotalPhys }
}

/// Nothing: sleeps of the standard library use timers of high resolution already.
pub(crate) fn be_precise() {}

/// Options for a file that only its owner should read. It has the access control list of its directory, which in the
/// directories of a user permits nobody else.
pub(crate) fn private_file() -> OpenOptions {
    OpenOptions::new()
}
