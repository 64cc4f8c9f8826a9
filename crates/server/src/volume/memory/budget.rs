//! The limit on the memory of a volume.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{VolumeError, VolumeResult};

/// A limit in bytes, and the bytes in use.
pub(super) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes, all unused.
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    /// Charges `bytes`, or charges nothing and returns [`VolumeError::NoSpace`].
    pub(super) fn take(&self, bytes: u64) -> VolumeResult<()> {
        let within = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(()),
            Err(_) => Err(VolumeError::NoSpace),
        }
    }

    /// Returns `bytes` that were charged before.
    pub(super) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes in use.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}
