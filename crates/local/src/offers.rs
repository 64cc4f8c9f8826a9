//! What a local or mounted path offers, for `sharebench probe`.

use sharebench_model::{CachePolicy, Fact, IoPolicy, MetaOp, MetaYield, SyncPolicy, TargetFacts};
use sharebench_target::offers::{OfferReport, Usability, size_text};
use sharebench_target::{SessionSpec, Target, call};

pub(crate) const FEATURES: &str = "features";
const SPACE: &str = "space";

/// Examines a directory and its volume, and creates nothing. `volume` is what the system calls the volume, `facts` are those
/// of a session that describe it, with their names in a report.
pub(crate) async fn examine(
    target: &impl Target,
    volume: &'static str,
    facts: &[(Fact, &str)],
    add_features: impl AsyncFnOnce(&mut OfferReport, &TargetFacts),
) -> OfferReport {
    let mut report = OfferReport::new(target.url(), "local");
    let spec = SessionSpec { slot_bytes: 4096, ..SessionSpec::default() };
    let mut session = match target.connect(&spec).await {
        Ok(session) => session,
        Err(error) => {
            report.incompatible(format!("{}: {}", error.part, error.detail));
            return report;
        }
    };
    let known = session.facts();
    for (fact, name) in facts {
        if let Some(value) = known.get(*fact) {
            report.fact(volume, *name, value);
        }
    }
    add_features(&mut report, &known).await;
    if let Ok(MetaYield::Space(space)) = call(session.as_mut(), MetaOp::Space).await {
        report.fact(SPACE, "total", size_text(space.total));
        report.fact(SPACE, "free", size_text(space.available));
    }
    session.close().await;
    report
}

/// Adds the policies of the cache and of writes; `unbuffered` is what the system calls I/O without its cache.
pub(crate) fn add_policies(target: &impl Target, report: &mut OfferReport, unbuffered: &'static str) {
    let without_cache = IoPolicy { cache: CachePolicy::Unbuffered, ..IoPolicy::default() };
    let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
    for (name, policy, option) in [
        (unbuffered, without_cache, "--cache unbuffered"),
        ("write-through", through, "--sync write-through"),
    ] {
        match target.policy(policy) {
            Ok(_) => report.add(FEATURES, name, "possible", Usability::With(option.to_owned())),
            Err(refusal) => {
                let why = format!("not possible: {}", refusal.reason);
                report.add(FEATURES, name, why, Usability::NotOffered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::LocalTarget;

    #[tokio::test]
    async fn a_directory_is_reported_with_its_free_space() {
        let report = LocalTarget::new(std::env::temp_dir()).offers().await;
        assert!(report.row("space", "free").is_some(), "{report:?}");
        assert!(report.is_usable(), "{:?}", report.incompatibilities);
    }

    #[tokio::test]
    async fn a_missing_directory_is_named() {
        let report = LocalTarget::new("/nowhere/at all").offers().await;
        assert!(report.incompatibilities[0].contains("no such directory"), "{:?}", report.incompatibilities);
    }
}
