//! What clients cache: oplocks and leases of files and directories, and their breaks.

pub(super) mod break_acknowledgment;
pub(super) mod cache_rights;
pub(super) mod directory_leases;
pub(super) mod lease_breaks;
