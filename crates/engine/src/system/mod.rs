//! What the engine needs of the operating system. Each system has a folder with the same functions; what a system does
//! not report is none.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(not(target_os = "linux"))]
mod unreported;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "macos")]
pub use macos::*;
#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(not(target_os = "linux"))]
pub use unreported::*;
#[cfg(windows)]
pub use windows::*;
