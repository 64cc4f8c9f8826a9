//! A packet socket that carries IPX in one Ethernet framing. Only Linux has one; elsewhere it cannot be opened.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use linux::EtherSocket;
#[cfg(not(target_os = "linux"))]
pub use unsupported::EtherSocket;

/// The longest frame without its check sequence.
pub const MAX_FRAME: usize = 1514;
