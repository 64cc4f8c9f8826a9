//! Self-checks of policies: compares the requested treatment of caches and writes with what was observed and sent.

use sharebench_model::units::{ByteSize, percent};
use sharebench_model::{CachePolicy, Check, Measure, Verdict};
use sharebench_plan::{RecordWork, Start};

/// A file of which at most this share is in memory before a pass counts as cold.
const COLD_SHARE: f64 = 0.01;

/// Checks a measured cell; `reported` means that the target counts the policy flags of its requests.
pub(crate) fn policy(work: &RecordWork, measure: &Measure, reported: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut push = |name: &str, verdict, detail| checks.push(Check::new(name, verdict, detail));
    let seen = *measure.evidence;
    if let Some(before) = seen.before
        && work.test.start() == Start::Cold
        && work.policy.cache == CachePolicy::Normal
        && before.share() > COLD_SHARE
    {
        let share = percent(before.share(), 0);
        if seen.drops > 0 {
            let detail = format!(
                "a cold start was requested, but {share} of the file was resident before a pass: its pages were dropped and stayed, \
                 so something else uses or maps them; the rate is partly that of this machine's memory"
            );
            push("cold", Verdict::Warning, detail);
        } else {
            let detail = format!(
                "{share} of the file was resident before a pass: this file system cannot drop it, so the rate \
                 is that of this machine's memory"
            );
            push("cold", Verdict::Valid, detail);
        }
    }
    // Flags can be accepted and ignored; pages that appear in the cache cannot be explained away.
    if let Some(grown) = seen.grown.filter(|grown| *grown > 0) {
        let policy = work.policy.cache;
        let grown = ByteSize(grown);
        let detail = format!(
            "cache={policy} was requested, but a pass left {grown} more of the file in this machine's page cache"
        );
        push("unbuffered", Verdict::Invalid, detail);
    }
    if let Some(dirty) = seen.dirty.filter(|dirty| *dirty > 0) {
        let dirty = ByteSize(dirty);
        let detail =
            format!("sync=write-through was requested, but after a pass {dirty} were in memory only");
        push("write-through", Verdict::Invalid, detail);
    }
    if reported {
        counted(work, measure, &mut push);
    }
    checks
}

/// Compares the number of requests with the number that carried the policy, for adapters that count them.
fn counted(work: &RecordWork, measure: &Measure, push: &mut impl FnMut(&str, Verdict, String)) {
    let sent = measure.evidence.sent;
    let writes = work.requests_in(measure.bytes.written);
    let all = work.requests_in(measure.bytes.total());
    if work.policy.writes_through() && sent.through < writes {
        let detail = format!(
            "sync=write-through was requested, but only {} of {writes} writes carried the flag",
            sent.through
        );
        push("write-through", Verdict::Invalid, detail);
    }
    if work.policy.cache == CachePolicy::Unbuffered && sent.unbuffered < all {
        let detail = format!(
            "cache=unbuffered was requested, but only {} of {all} requests carried the flag",
            sent.unbuffered
        );
        push("unbuffered", Verdict::Invalid, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::{Evidence, IoBytes, IoPolicy, PolicyCount, Residency, SyncPolicy};
    use sharebench_plan::Test;
    use std::time::Duration;

    fn work(test: Test, cache: CachePolicy, sync: SyncPolicy) -> RecordWork {
        RecordWork {
            policy: IoPolicy { cache, sync },
            ..RecordWork::new(test, 1 << 20, 4096, Duration::ZERO)
        }
    }

    fn said(work: &RecordWork, evidence: Evidence, reported: bool) -> Vec<(Verdict, String)> {
        let bytes = IoBytes { read: 0, written: 8 * 4096 };
        let checks =
            policy(work, &Measure { evidence: evidence.into(), bytes, ..Measure::default() }, reported);
        checks.into_iter().map(|check| (check.verdict, check.detail.clone())).collect()
    }

    #[test]
    fn a_cache_drop_without_effect_is_reported_with_its_share() {
        let read = work(Test::Read, CachePolicy::Normal, SyncPolicy::Normal);
        let before = |resident| Some(Residency { bytes: 1000, resident, dirty: Some(0) });
        let found = said(&read, Evidence { before: before(370), drops: 1, ..Evidence::default() }, false);
        assert_eq!(found[0].0, Verdict::Warning);
        assert!(
            found[0].1.contains("a cold start was requested, but 37 % of the file was resident"),
            "{found:?}"
        );
        assert_eq!(said(&read, Evidence { before: before(0), drops: 1, ..Evidence::default() }, false), []);
        // A file system without a cache to drop never promised a cold start.
        let memory = said(&read, Evidence { before: before(1000), ..Evidence::default() }, false);
        assert_eq!((memory.len(), memory[0].0), (1, Verdict::Valid));
    }

    #[test]
    fn unexpected_cached_pages_invalidate_the_step() {
        let direct = work(Test::Rewrite, CachePolicy::Unbuffered, SyncPolicy::WriteThrough);
        let clean = Evidence { grown: Some(0), dirty: Some(0), ..Evidence::default() };
        assert_eq!(said(&direct, clean, false), []);
        let found = said(&direct, Evidence { grown: Some(4096), dirty: Some(8192), ..clean }, false);
        assert!(
            found.iter().all(|(verdict, _)| *verdict == Verdict::Invalid) && found.len() == 2,
            "{found:?}"
        );
        assert!(found[0].1.contains("4KiB") && found[1].1.contains("8KiB"), "{found:?}");
    }

    #[test]
    fn requests_without_the_policy_flag_invalidate_the_step() {
        let direct = work(Test::Rewrite, CachePolicy::Unbuffered, SyncPolicy::WriteThrough);
        let sent = |through, unbuffered| Evidence {
            sent: PolicyCount { through, unbuffered, stable: 0 },
            ..Evidence::default()
        };
        assert_eq!(said(&direct, sent(8, 8), true), []);
        let found = said(&direct, sent(7, 0), true);
        assert!(found[0].1.contains("7 of 8 writes") && found[1].1.contains("0 of 8 requests"), "{found:?}");
    }
}
