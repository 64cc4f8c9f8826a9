//! Flags of caches, durability and what the measured time includes.

use clap::Args;
use sharebench_model::{CachePolicy, SyncPolicy};
use sharebench_plan::Policies;

/// Caches, durability and what the measured time includes (docs/sweeps.md).
#[derive(Debug, Args, Default)]
pub struct PolicyFlags {
    /// Cache policies: normal, no-local (client cache off), unbuffered (end to end) [default: normal].
    #[arg(long, value_delimiter = ',')]
    pub cache: Option<Vec<CachePolicy>>,
    /// Sync policies of writes: normal, write-through [default: normal].
    #[arg(long, value_delimiter = ',')]
    pub sync: Option<Vec<SyncPolicy>>,
    /// The time of closing the file belongs to the test.
    #[arg(long)]
    pub include_close: bool,
    /// The time of bringing writes to stable storage (fsync, FLUSH, COMMIT) belongs to the test.
    #[arg(long)]
    pub include_flush: bool,
}

impl PolicyFlags {
    /// The same as a plan's section would say it.
    pub fn typed(&self) -> Policies {
        Policies {
            cache: self.cache.clone(),
            sync: self.sync.clone(),
            include_close: self.include_close.then_some(true),
            include_flush: self.include_flush.then_some(true),
        }
    }
}
