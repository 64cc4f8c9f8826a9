//! Local and mounted paths as targets, through the file systems and network clients of the operating system.
//!
//! Linux and Windows have a module each, with the same functions. What both have in common is in the other modules. On other
//! systems the crate is empty.
//!
//! ```
//! use sharebench_local::LocalTarget;
//! use sharebench_target::{Target, TargetUrl};
//! let target = LocalTarget::from_url(TargetUrl::parse("file:///tmp?direct=1").unwrap()).unwrap();
//! assert_eq!(target.url(), "/tmp?direct=1");
//! assert_eq!(target.capabilities().protocol, "local");
//! ```
#![cfg(any(target_os = "linux", windows))]

#[cfg(target_os = "linux")]
pub mod beneath;
mod buffers;
mod data_op;
mod error_code;
mod offers;
mod options;
mod path_components;
mod system;
#[cfg(target_os = "linux")]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use unix::{Engine, LocalTarget};
#[cfg(windows)]
pub use windows::LocalTarget;
