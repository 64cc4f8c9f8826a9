//! macOS.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr;

/// Memory that is assumed where the system does not report it.
const ASSUMED_BYTES: u64 = 2 << 30;

/// Bytes of memory of this machine (`hw.memsize` of sysctl(3)).
pub(crate) fn machine_memory() -> u64 {
    let mut bytes = 0_u64;
    let mut len = size_of_val(&bytes);
    // SAFETY: the name is terminated, and the call writes at most `len` bytes to the number.
    let done = unsafe {
        libc::sysctlbyname(c"hw.memsize".as_ptr(), (&raw mut bytes).cast(), &raw mut len, ptr::null_mut(), 0)
    };
    if done == 0 { bytes } else { ASSUMED_BYTES }
}

/// Nothing: this system has no timer slack that a thread may turn off without privileges.
pub(crate) fn be_precise() {}

/// Options for a file that only its owner may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
