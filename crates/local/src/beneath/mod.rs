//! Names below an open directory, resolved without symbolic links.
//!
//! The target for local paths and the embedded servers work in directories that other users of the machine may change at
//! any time. Between two system calls such a user can exchange a directory for a symbolic link (`renameat2` with
//! `RENAME_EXCHANGE`), and `O_NOFOLLOW` protects the last component of a path only. Therefore both use this crate: it
//! opens every component relative to an open directory and without links, and it identifies what is open by its
//! descriptor, never by its name.
//!
//! Limits: Linux removes and renames by name, not by descriptor. A caller that has checked a name can therefore still
//! remove another object that took the name in between, but only within the open directory.

mod resolution;
mod status;

pub use resolution::{NO_LINKS, Resolution};
pub use status::{Identity, Kind, Status};
