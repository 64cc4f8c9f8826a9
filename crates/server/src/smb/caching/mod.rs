//! What clients cache: oplocks and leases of files and directories, and their breaks.

pub(super) mod break_acknowledgment;
pub(super) mod cache_request;
pub(super) mod cache_rights;
pub(super) mod cached_listings;
pub(super) mod directory_leases;
pub(super) mod grants;
pub(super) mod lease_breaks;
