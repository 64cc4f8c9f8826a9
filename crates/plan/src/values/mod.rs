//! The values of a plan's fields: each type reads and writes its own text, and depends on no other part of the plan.

mod auto;
mod cache_probes;
mod directory_layout;
mod duration_text;
mod limits;
mod lognormal;
mod metadata_preset;
mod metadata_test;
mod mistake;
mod pace;
mod policies;
mod range;
mod repeat;
mod search;
mod server_cache;
mod target_url;
mod test;

pub use auto::Auto;
pub use cache_probes::{Bypass, CacheProbes, Cold};
pub use directory_layout::DirectoryLayout;
pub(crate) use duration_text::duration_text;
pub(crate) use limits::{MAX_FILE, MAX_RECORD};
pub(crate) use lognormal::{lognormal, lognormal_mean};
pub use metadata_preset::MetadataPreset;
pub use metadata_test::{EntryState, MetadataTest, SweepTest};
pub(crate) use mistake::nearest;
pub use mistake::{Mistake, Mistakes};
pub use pace::{Arrivals, Pace, Think};
pub use policies::Policies;
pub use range::{Countable, Values};
pub use repeat::{Precision, Repeat};
pub use search::{Search, Slo};
pub use server_cache::ServerCacheState;
pub(crate) use target_url::SEPARATORS;
pub use target_url::target_url;
pub use test::{Access, Direction, Pattern, Start, Test};
