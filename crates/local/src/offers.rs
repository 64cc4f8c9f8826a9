//! What a local or mounted path offers, for `sharebench probe`.

use sharebench_model::{CachePolicy, IoPolicy, MetaOp, MetaYield, SyncPolicy};
use sharebench_target::offers::{OfferReport, Usability, size_text};
use sharebench_target::{SessionSpec, Target, call};

use crate::LocalTarget;
use crate::system::offers::{VOLUME, VOLUME_FACTS, add_features};

pub(crate) const FEATURES: &str = "features";
const SPACE: &str = "space";

impl LocalTarget {
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
        add_features(self, &mut report, &facts).await;
        if let Ok(MetaYield::Space(space)) = call(session.as_mut(), MetaOp::Space).await {
            report.fact(SPACE, "total", size_text(space.total));
            report.fact(SPACE, "free", size_text(space.available));
        }
        session.close().await;
        report
    }

    /// Adds the policies of the cache and of writes; `unbuffered` is what the system calls I/O without its cache.
    pub(crate) fn add_policies(&self, report: &mut OfferReport, unbuffered: &str) {
        let without_cache = IoPolicy { cache: CachePolicy::Unbuffered, ..IoPolicy::default() };
        let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
        for (name, policy, option) in [
            (unbuffered, without_cache, "--cache unbuffered"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_reported_with_its_volume_and_free_space() {
        let report = LocalTarget::new(std::env::temp_dir()).offers().await;
        assert!(report.row(VOLUME, "file system").is_some(), "{report:?}");
        assert!(report.row("space", "free").is_some(), "{report:?}");
        assert!(report.is_usable(), "{:?}", report.incompatibilities);
    }

    #[tokio::test]
    async fn a_missing_directory_is_named() {
        let report = LocalTarget::new("/nowhere/at all").offers().await;
        assert!(report.incompatibilities[0].contains("no such directory"), "{:?}", report.incompatibilities);
    }
}
