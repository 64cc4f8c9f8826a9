//! The options for caches, durability and what the measured time includes.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_model::{CachePolicy, SyncPolicy};
use sharebench_plan::{Policies, ServerCacheState};

use super::heading;

/// Cache and sync policies of a sweep or a depth study (docs/measure/sweeps.md).
#[derive(Debug, Args, Default)]
#[command(next_help_heading = heading::CACHES)]
pub struct PolicyFlags {
    /// Cache policies: normal, no-local (no client cache), unbuffered (no client cache and no server cache)
    /// [default: normal].
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub cache: Option<Vec<CachePolicy>>,
    /// Sync policies of writes: normal, write-through [default: normal].
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub sync: Option<Vec<SyncPolicy>>,
    /// States of the server's cache before each pass: warm (the file was read once), cold (other data was read), as-is
    /// (as the cell before left it) [default: warm; as-is with --pre-step-cmd].
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    pub server_cache: Option<Vec<ServerCacheState>>,
    /// Bytes of other data to read before each pass of a cold cell, more than the server caches [default: the size of
    /// --cache-probes, or 4 times the largest file, at least 256MiB].
    #[arg(long, value_name = "SIZE")]
    pub displace: Option<ByteSize>,
    /// Include the time of closing the file.
    #[arg(long)]
    pub include_close: bool,
    /// Include the time of flushing writes to stable storage (fsync, FLUSH, COMMIT).
    #[arg(long)]
    pub include_flush: bool,
}

impl PolicyFlags {
    /// The section of a plan with the same meaning.
    pub fn typed(&self) -> Policies {
        Policies {
            cache: self.cache.clone(),
            sync: self.sync.clone(),
            server_cache: self.server_cache.clone(),
            displace: self.displace,
            include_close: self.include_close.then_some(true),
            include_flush: self.include_flush.then_some(true),
        }
    }
}
