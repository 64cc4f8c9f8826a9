//! The wall clock of this machine, which a known answer sets back.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::SteppedClock;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::SteppedClock;

/// Seconds by which the clock is set back.
pub(crate) const HOUR_S: i64 = 3600;
