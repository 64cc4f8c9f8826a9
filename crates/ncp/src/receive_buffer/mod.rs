//! The receive buffer of a datagram socket. It must hold what arrives while the program is not reading: datagrams that
//! overrun it are lost, and their clients wait for a retransmission.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

#[cfg(target_os = "linux")]
pub use linux::{grow, size};
#[cfg(not(target_os = "linux"))]
pub use portable::{grow, size};

/// Bytes requested by a server, whose one socket receives the datagrams of all clients.
pub const OF_SERVER: usize = 8 << 20;
/// Bytes requested by a client, which receives one reply or burst at a time.
pub const OF_CLIENT: usize = 1 << 20;
