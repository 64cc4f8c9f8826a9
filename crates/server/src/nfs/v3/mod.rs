//! The procedures of NFS version 3 and of MOUNT.

pub(super) mod attributes;
pub(super) mod data;
pub(super) mod listing;
pub(super) mod mount;
pub(super) mod names;
pub(super) mod reply;
