//! The captured server: how fast it was, for whom, and what its caches saved.

mod caches;
mod percentile;
mod report;
mod responses;

pub use caches::CacheUse;
pub use percentile::Percentile;
pub use report::{KindReport, ServerReport, SizePercentile, UserReport, server_report};
#[cfg(test)]
pub(crate) use responses::kind;
