//! Timers finer than those of the runtime. Linux has a timer that the runtime can watch; elsewhere a thread waits for an
//! alarm of the system.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod threaded;

#[cfg(target_os = "linux")]
pub(crate) use linux::FineTimer;
#[cfg(not(target_os = "linux"))]
pub(crate) use threaded::FineTimer;

/// A wait of at most this length does not use the timer: on a virtual machine, setting it and waking by it took some
/// 5 us of CPU time and 10 us of waiting.
pub(crate) const NEAR_NS: u64 = 20_000;
