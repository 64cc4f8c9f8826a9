//! The system's figures of a TCP connection. Only Linux has all of them; elsewhere they are absent.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use absent::tcp_reading;
#[cfg(target_os = "linux")]
pub use linux::tcp_reading;
