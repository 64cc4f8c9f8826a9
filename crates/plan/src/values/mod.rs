//! The values of a plan's fields: each type reads and writes its own text, and depends on no other part of the plan.

mod auto;
mod cache_probes;
mod directory_layout;
mod duration_text;
mod included;
mod limits;
mod lognormal;
mod metadata_preset;
mod mistake;
mod pace;
mod policies;
mod range;
mod repeat;
mod scale;
mod search;
mod server_cache;
mod sweep_preset;
mod sweep_test;
mod target_url;
mod typed_target;
mod unit_objective;

pub use auto::Auto;
pub use cache_probes::{Bypass, CacheProbes, Cold};
pub use directory_layout::DirectoryLayout;
pub(crate) use duration_text::duration_text;
pub use included::Included;
pub(crate) use limits::{MAX_FILE, MAX_RECORD};
pub(crate) use lognormal::{lognormal, lognormal_mean};
pub use metadata_preset::MetadataPreset;
pub use mistake::{Mistake, Mistakes, nearest};
pub use pace::{Arrivals, Pace, Think};
pub use policies::Policies;
pub use range::{Countable, Values};
pub use repeat::{Precision, Repeat};
pub use scale::Scale;
pub use search::{Search, Slo};
pub use server_cache::ServerCacheState;
pub use sharebench_model::{
    Access, Direction, EntryState, MetadataGroup, MetadataTest, Pattern, Start, Test,
};
pub use sweep_preset::SweepPreset;
pub use sweep_test::{SweepTest, SweepTestName, record_tests};
pub(crate) use target_url::SEPARATORS;
pub use target_url::target_url;
pub use typed_target::{TypedTarget, url_of_typed_target};
pub use unit_objective::WantedObjective;
