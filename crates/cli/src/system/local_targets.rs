//! Local paths of Linux and Windows as targets.

use std::sync::Arc;

use sharebench_local::LocalTarget;
use sharebench_target::offers::OfferReport;
use sharebench_target::{Target, TargetUrl};

use crate::exit::Failure;

/// A local path that can be examined.
pub fn local_path(url: TargetUrl) -> Result<LocalTarget, Failure> {
    Ok(LocalTarget::from_url(url)?)
}

/// Examines a local path.
pub async fn local_offers(target: LocalTarget) -> OfferReport {
    target.offers().await
}

/// Opens the target of a local path.
pub fn local_target(url: TargetUrl) -> Result<Arc<dyn Target>, Failure> {
    Ok(Arc::new(local_path(url)?))
}
