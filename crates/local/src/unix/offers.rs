//! What Linux offers for a path: its mount, direct I/O and `io_uring`.

use sharebench_model::Fact;
use sharebench_target::offers::{OfferReport, Usability};
use sharebench_target::{SessionSpec, Target};

use super::LocalTarget;
use crate::offers::{FEATURES, add_policies, examine};

/// Facts of a session that describe its mount, with their names in a report.
const MOUNT_FACTS: [(Fact, &str); 7] = [
    (Fact::Access, "access"),
    (Fact::FileSystem, "file system"),
    (Fact::MountPoint, "mount point"),
    (Fact::MountSource, "source"),
    (Fact::MountOptions, "options"),
    (Fact::BlockSize, "block size"),
    (Fact::WireCounter, "counter of wire bytes"),
];

impl LocalTarget {
    /// Examines the directory and its mount. It creates nothing.
    pub async fn offers(&self) -> OfferReport {
        examine(self, "mount", &MOUNT_FACTS, async |report, facts| {
            let deep = SessionSpec { slots: 2, slot_bytes: 4096, ..SessionSpec::default() };
            match self.connect(&deep).await {
                Ok(session) => {
                    report.add(FEATURES, "io_uring", "available", Usability::Used);
                    session.close().await;
                }
                Err(error) => {
                    let why = format!("not available: {}", error.detail);
                    report.add(FEATURES, "io_uring", why, Usability::NotOffered);
                }
            }
            add_policies(self, report, "direct I/O");
            if let Some(unit) = facts.get(Fact::DirectIoUnit) {
                report.fact(FEATURES, "unit of direct I/O", format!("{unit} bytes"));
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_reported_with_its_mount_and_io_uring() {
        let report = LocalTarget::new(std::env::temp_dir()).offers().await;
        assert!(report.row("mount", "file system").is_some(), "{report:?}");
        assert!(report.row("features", "io_uring").is_some(), "{report:?}");
    }
}
