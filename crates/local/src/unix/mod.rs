//! Local and mounted paths as targets.
//!
//! A session with one slot performs `pread`/`pwrite` inside [`Session::submit`] on its job's own thread;
//! one with more slots hands bursts to `io_uring`, one system call per burst. Both block their thread. If operations on names are
//! in flight, each slot has a thread instead.
//!
//! Other users may be able to write to the target's directory. Therefore every name is resolved relative to an open
//! directory and without links, and the directories that sharebench makes are private and stay open while they are used
//! (docs/results/security.md).
//!
//! [`Session::submit`]: sharebench_target::Session::submit

mod cache;
mod counter;
mod directories;
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

pub use target::{Engine, LocalTarget};
