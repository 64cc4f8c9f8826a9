//! What Windows offers for a path: its volume and unbuffered I/O.

use sharebench_model::{Fact, TargetFacts};
use sharebench_target::offers::OfferReport;

use super::LocalTarget;
use crate::offers::{add_policies, examine};

/// Facts of a session that describe its volume, with their names in a report.
const VOLUME_FACTS: [(Fact, &str); 5] = [
    (Fact::Access, "access"),
    (Fact::FileSystem, "file system"),
    (Fact::MountPoint, "root"),
    (Fact::Drive, "drive"),
    (Fact::BlockSize, "sector"),
];

impl LocalTarget {
    /// Examines the directory and its volume. It creates nothing.
    pub async fn offers(&self) -> OfferReport {
        let policies =
            async |report: &mut OfferReport, _: &TargetFacts| add_policies(self, report, "unbuffered I/O");
        examine(self, "volume", &VOLUME_FACTS, policies).await
    }
}
