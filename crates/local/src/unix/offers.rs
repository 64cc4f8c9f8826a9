//! What a local or mounted path offers, for `sharebench probe`.

use sharebench_model::{CachePolicy, Fact, IoPolicy, MetaOp, MetaYield, SyncPolicy};
use sharebench_target::offers::{OfferReport, Usability, size_text};
use sharebench_target::{Session, SessionSpec, Target, call};

use super::PosixTarget;

const MOUNT: &str = "mount";
const FEATURES: &str = "features";
const SPACE: &str = "space";

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

impl PosixTarget {
    /// Examines the directory and its mount. It creates nothing.
    pub async fn offers(&self) -> OfferReport {
        let mut report = OfferReport::new(self.url(), "local");
        let spec = SessionSpec { slot_bytes: 4096, ..SessionSpec::default() };
        match self.connect(&spec).await {
            Err(error) => report.incompatible(format!("{}: {}", error.part, error.detail)),
            Ok(mut session) => {
                add_mount(&mut report, session.as_ref());
                self.add_features(&mut report, session.as_ref()).await;
                if let Ok(MetaYield::Space(space)) = call(session.as_mut(), MetaOp::Space).await {
                    report.fact(SPACE, "total", size_text(space.total));
                    report.fact(SPACE, "free", size_text(space.available));
                }
                session.close().await;
            }
        }
        report
    }

    async fn add_features(&self, report: &mut OfferReport, session: &dyn Session) {
        let deep = SessionSpec { slots: 2, slot_bytes: 4096, ..SessionSpec::default() };
        match self.connect(&deep).await {
            Ok(session) => {
                report.add(FEATURES, "io_uring", "available", Usability::Used);
                session.close().await;
            }
            Err(error) => {
                report.add(
                    FEATURES,
                    "io_uring",
                    format!("not available: {}", error.detail),
                    Usability::NotOffered,
                );
            }
        }
        let unbuffered = IoPolicy { cache: CachePolicy::Unbuffered, ..IoPolicy::default() };
        let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
        for (name, policy, option) in [
            ("direct I/O", unbuffered, "--cache unbuffered"),
            ("write-through", through, "--sync write-through"),
        ] {
            match self.policy(policy) {
                Ok(_) => report.add(FEATURES, name, "possible", Usability::With(option.to_owned())),
                Err(refusal) => {
                    report.add(
                        FEATURES,
                        name,
                        format!("not possible: {}", refusal.reason),
                        Usability::NotOffered,
                    );
                }
            }
        }
        if let Some(unit) = session.facts().get(Fact::DirectIoUnit) {
            report.fact(FEATURES, "unit of direct I/O", format!("{unit} bytes"));
        }
    }
}

fn add_mount(report: &mut OfferReport, session: &dyn Session) {
    let facts = session.facts();
    for (fact, name) in MOUNT_FACTS {
        if let Some(value) = facts.get(fact) {
            report.fact(MOUNT, name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_reported_with_its_mount_and_free_space() {
        let report = PosixTarget::new(std::env::temp_dir()).offers().await;
        assert!(report.row("mount", "file system").is_some(), "{report:?}");
        assert!(report.row("space", "free").is_some(), "{report:?}");
        assert!(report.row("features", "io_uring").is_some(), "{report:?}");
        assert!(report.is_usable(), "{:?}", report.incompatibilities);
    }

    #[tokio::test]
    async fn a_missing_directory_is_named() {
        let report = PosixTarget::new("/nowhere/at all").offers().await;
        assert!(report.incompatibilities[0].contains("no such directory"), "{:?}", report.incompatibilities);
    }
}
