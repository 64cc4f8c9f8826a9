//! What a path of Windows offers, for `sharebench probe`.

use sharebench_model::{CachePolicy, Fact, IoPolicy, MetaOp, MetaYield, SyncPolicy};
use sharebench_target::offers::{OfferReport, Usability, size_text};
use sharebench_target::{SessionSpec, Target, call};

use super::WindowsTarget;

const VOLUME: &str = "volume";
const FEATURES: &str = "features";
const SPACE: &str = "space";

/// Facts of a session that describe its volume, with their names in a report.
const VOLUME_FACTS: [(Fact, &str); 5] = [
    (Fact::Access, "access"),
    (Fact::FileSystem, "file system"),
    (Fact::MountPoint, "root"),
    (Fact::Drive, "drive"),
    (Fact::BlockSize, "sector"),
];

impl WindowsTarget {
    /// Examines the directory and its volume. It creates nothing.
    pub async fn offers(&self) -> OfferReport {
        let mut report = OfferReport::new(self.url(), "local");
        let spec = SessionSpec { slot_bytes: 4096, ..SessionSpec::default() };
        let mut session = match self.connect(&spec).await {
            Ok(session) => session,
            Err(error) => {
                report.incompatible(format!("{}: {}", error.part, error.detail));
                return report;
            }
        };
        let facts = session.facts();
        for (fact, name) in VOLUME_FACTS {
            if let Some(value) = facts.get(fact) {
                report.fact(VOLUME, name, value);
            }
        }
        self.add_policies(&mut report);
        if let Ok(MetaYield::Space(space)) = call(session.as_mut(), MetaOp::Space).await {
            report.fact(SPACE, "total", size_text(space.total));
            report.fact(SPACE, "free", size_text(space.available));
        }
        session.close().await;
        report
    }

    fn add_policies(&self, report: &mut OfferReport) {
        let unbuffered = IoPolicy { cache: CachePolicy::Unbuffered, ..IoPolicy::default() };
        let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
        for (name, policy, option) in [
            ("unbuffered I/O", unbuffered, "--cache unbuffered"),
            ("write-through", through, "--sync write-through"),
        ] {
            match self.policy(policy) {
                Ok(_) => report.add(FEATURES, name, "possible", Usability::With(option.to_owned())),
                Err(refusal) => {
                    let why = format!("not possible: {}", refusal.reason);
                    report.add(FEATURES, name, why, Usability::NotOffered);
                }
            }
        }
    }
}
