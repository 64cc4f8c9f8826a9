//! Local and mounted paths as targets, through the file systems and network clients of the operating system.
//!
//! Each system has its own module: Linux in `unix`, Windows in `windows`. On other systems the crate is empty.

#[cfg(target_os = "linux")]
pub mod beneath;
#[cfg(target_os = "linux")]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use unix::{Engine, PosixTarget};
#[cfg(windows)]
pub use windows::WindowsTarget;
