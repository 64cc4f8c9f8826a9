//! Local and mounted paths as targets.
//!
//! A session with one slot performs `pread`/`pwrite` inside [`Session::submit`] on its job's own thread;
//! one with more slots hands bursts to `io_uring`, one system call per burst. Both block their thread. If operations on names are
//! in flight, each slot has a thread instead.
//!
//! Other users may be able to write to the target's directory. Therefore every name is resolved relative to an open
//! directory and without links, and the directories that sharebench makes are private and stay open while they are used
//! (docs/security.md).
//!
//! ```
//! use sharebench_local::PosixTarget;
//! use sharebench_target::{Target, TargetUrl};
//! let target = PosixTarget::from_url(TargetUrl::parse("file:///tmp?direct=1").unwrap()).unwrap();
//! assert_eq!(target.url(), "/tmp?direct=1");
//! assert_eq!(target.capabilities().protocol, "local");
//! ```
//!
//! [`Session::submit`]: sharebench_target::Session::submit

mod buffers;
mod cache;
mod counter;
mod directories;
mod errno;
mod files;
mod known_directories;
mod locks;
mod mapping;
mod mount;
mod names;
mod offers;
mod overlapping_calls;
mod owner;
mod policy;
mod psync;
mod ranges;
mod recent_directories;
mod relative_path;
mod session_core;
mod slot_threads;
mod sys;
mod target;
mod transfer;
mod uring;

pub use target::{Engine, PosixTarget};
