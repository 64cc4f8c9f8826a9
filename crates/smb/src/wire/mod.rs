//! SMB2 messages on the wire, in both directions: the client encodes requests and decodes responses, the server vice
//! versa.
//!
//! Every `encode` appends to a caller's buffer that starts at an SMB2 header (offsets in messages count
//! from there); every `decode` takes one complete message and rejects offsets and lengths that exceed it.

mod bytes;
pub mod change_notify;
pub mod copy_chunk;
pub mod create;
pub mod create_context;
pub mod data;
pub mod descriptor;
pub mod directory;
pub mod durable;
pub mod extended_attributes;
pub mod file_info;
pub mod file_ranges;
pub mod frame;
pub mod header;
pub mod info;
pub mod ioctl;
pub mod lease;
pub mod listing;
pub mod lock;
pub mod negotiate;
pub mod network_interface;
pub mod oplock;
pub mod security_descriptor;
pub mod session_setup;
pub mod share_list;
pub mod share_list_server;
pub mod simple;
pub mod smb1;
pub mod snapshots;
pub mod transform;
pub mod tree;
pub mod validation;

#[cfg(test)]
mod tests;

pub use bytes::{Field, FileId, Reader, WireError, from_utf16, put_utf16, utf16};

/// Length of an SMB2 header, and the offset of every body.
pub const HEADER_LEN: usize = 64;
