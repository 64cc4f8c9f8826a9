//! Linux.

use std::fs::OpenOptions;
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of memory of this machine.
pub(crate) fn machine_memory() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram as u64 * u64::from(system.mem_unit)
}

/// Disables the timer slack of the calling thread (50 us by default), with which Linux groups wake-ups.
pub(crate) fn be_precise() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Options for a file that only its owner may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
