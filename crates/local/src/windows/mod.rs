//! Directories of Windows as targets: drives, mapped drives and UNC paths, through the clients of Windows itself.
//!
//! A session opens files for overlapped I/O and has a completion port. Each operation is one `ReadFile` or `WriteFile`
//! with the buffer of its slot, and as many as the session has slots are in flight. Caches are bypassed by
//! `FILE_FLAG_NO_BUFFERING`, and `FILE_FLAG_WRITE_THROUGH` makes writes durable.
//!
//! Windows has no way to open a path below an open directory without links. Names are therefore resolved by the system,
//! and a user who may write to the target's directory could exchange a directory for a link while a run uses it. What
//! sharebench removes is listed without following links.

mod completion_port;
mod names;
mod offers;
mod overlapped;
mod policy;
mod relative_path;
mod session;
mod target;
mod volume;

pub use target::LocalTarget;
