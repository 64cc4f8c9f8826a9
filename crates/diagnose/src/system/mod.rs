//! What a diagnosis needs of the operating system, a file per system.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::{SocketOptions, ThreadTime, cpus, own_uid};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{SocketOptions, ThreadTime, cpus, own_uid};

/// True where a diagnosis is possible: it needs the CPU time of single operations, in microseconds. Commands check it
/// first, because a coarser time would be a wrong share of the budget.
pub const SUPPORTED: bool = cfg!(target_os = "linux");
