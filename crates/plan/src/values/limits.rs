//! Limits of sizes in plans.

/// Largest record, in bytes.
pub(crate) const MAX_RECORD: u64 = 64 << 20;
/// Largest file, in bytes.
pub(crate) const MAX_FILE: u64 = 1 << 44;
