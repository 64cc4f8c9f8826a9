//! What Windows offers for a path: its volume and unbuffered I/O.

use sharebench_model::{Fact, TargetFacts};
use sharebench_target::offers::OfferReport;

use super::LocalTarget;

pub(crate) const VOLUME: &str = "volume";

/// Facts of a session that describe its volume, with their names in a report.
pub(crate) const VOLUME_FACTS: [(Fact, &str); 5] = [
    (Fact::Access, "access"),
    (Fact::FileSystem, "file system"),
    (Fact::MountPoint, "root"),
    (Fact::Drive, "drive"),
    (Fact::BlockSize, "sector"),
];

pub(crate) async fn add_features(target: &LocalTarget, report: &mut OfferReport, _: &TargetFacts) {
    target.add_policies(report, "unbuffered I/O");
}
