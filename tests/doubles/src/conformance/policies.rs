//! Policy step: every cache and sync policy is applied or rejected, never silently ignored.

use sharebench_model::{CachePolicy, ErrorClass, IoPolicy, MetaOp, MetaYield, OpenHow, PolicyCount};

use super::ground::Ground;
use super::pattern::{compare, pattern};
use super::probe::Probe;
use sharebench_target::PolicyTerms;

/// Writes of each policy's file.
const RECORDS: u64 = 3;

pub(super) async fn policies(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    for policy in IoPolicy::all() {
        let path = ground.path(&format!("{}-{}", policy.cache, policy.sync));
        let open = MetaOp::Open { path: path.clone(), how: OpenHow::CreateNew, policy };
        match ground.target.policy(policy) {
            Ok(terms) => kept(ground, &mut probe, open, policy, terms)
                .await
                .map_err(|finding| format!("{policy:?}: {finding}"))?,
            Err(refusal) if policy.is_normal() => ground.find(format!("the usual policy: {refusal}")),
            Err(refusal) => {
                if refusal.reason.is_empty() || refusal.value == "normal" {
                    ground.find(format!("a refusal without its reason: {refusal:?}"));
                }
                probe.fails(open, &[ErrorClass::Unsupported]).await?;
                probe.fails(MetaOp::Stat { path }, &[ErrorClass::NotFound]).await?;
            }
        }
    }
    ground.finish(probe).await
}

/// Content and requests are the same as without the policy, also for an existing file, and the policy flags are counted.
async fn kept(
    ground: &Ground<'_>,
    probe: &mut Probe,
    open: MetaOp,
    policy: IoPolicy,
    terms: PolicyTerms,
) -> Result<(), String> {
    let MetaOp::Open { path, .. } = open.clone() else { return Err("no open".into()) };
    let unit = u64::from(terms.alignment.max(1));
    let unit = ground.align(4096).next_multiple_of(unit).min(u64::from(ground.max_record()));
    let before = probe.session.policy_count();
    let file = opened(probe, open).await?;
    if policy.cache == CachePolicy::Unbuffered {
        // SMB gives unbuffered files no append access (MS-SMB2 3.3.5.9): they have their length before their content.
        probe.done(MetaOp::SetSize { file, size: RECORDS * unit }).await?;
    }
    for record in 0..RECORDS {
        probe.write(file, record * unit, &pattern(1, record * unit, unit as u32)).await?;
    }
    probe.done(MetaOp::Close { file }).await?;
    let file = opened(probe, MetaOp::Open { path: path.clone(), how: OpenHow::ReadWrite, policy }).await?;
    probe.write(file, unit, &pattern(2, unit, unit as u32)).await?;
    for (record, stamp) in [(0, 1), (1, 2), (2, 1)] {
        let wanted = pattern(stamp, record * unit, unit as u32);
        compare(&wanted, &probe.read(file, record * unit, unit as u32).await?, "what was written")?;
    }
    probe.done(MetaOp::Close { file }).await?;
    // Other policies on the same file see the same bytes.
    compare(&pattern(1, 0, unit as u32), &probe.get(&path, unit as u32).await?, "the usual way")?;
    let counted = probe.session.policy_count().since(before);
    if policy.is_normal() && (counted.through, counted.unbuffered) != (0, 0) {
        return Err(format!("plain requests are counted as {counted:?}"));
    }
    // A target whose requests carry no policy flags counts none.
    let writes = RECORDS + 1;
    if policy.writes_through() && counted != PolicyCount::default() && counted.through != writes {
        return Err(format!("{writes} writes through are counted as {counted:?}"));
    }
    Ok(())
}

async fn opened(probe: &mut Probe, open: MetaOp) -> Result<sharebench_model::FileRef, String> {
    match probe.call(open).await {
        Ok(MetaYield::Opened { file, .. }) => Ok(file),
        other => Err(format!("open: {other:?}")),
    }
}
