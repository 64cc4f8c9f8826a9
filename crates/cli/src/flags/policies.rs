//! The options for caches, durability and what the measured time includes.

use clap::Args;
use sharebench_model::{CachePolicy, SyncPolicy};
use sharebench_plan::{Included, Policies, ServerCacheState};

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
    /// Include in the measured time: close (closing the file), flush (bringing writes to stable storage by fsync, FLUSH or
    /// COMMIT).
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub include: Option<Vec<Included>>,
}

impl PolicyFlags {
    /// The section of a plan with the same meaning.
    pub fn typed(&self) -> Policies {
        Policies {
            cache: self.cache.clone(),
            sync: self.sync.clone(),
            server_cache: self.server_cache.clone(),
            displace: None,
            include: self.include.clone(),
        }
    }
}
