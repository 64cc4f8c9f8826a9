//! Which part of the operations on names the caches of the operating system's client answered on a mount.

use sharebench_model::{MetadataTest, NameCache, Verdict};

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::types::{Access, DirectoryFact, DirectoryFinding, NameCacheEvidence, Row};

/// One finding for each section of a test that caches can answer, and each mounted system with wire counts.
pub(crate) fn name_caches(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<DirectoryFinding> {
    let mut found = Vec::new();
    for (index, section) in estimated.sections.iter().enumerate() {
        let first = section.rows.first();
        let test = first.and_then(|row| MetadataTest::from_coordinates(&row.coordinates));
        let Some(cache) = test.and_then(|test| test.declaration().name_cache) else { continue };
        for system in 0..aligned.systems.len() {
            if aligned.systems[system].access != Access::Mounted {
                continue;
            }
            let cells = section.rows.iter().filter_map(|row| requests(aligned, row, system));
            let cells: Vec<_> = cells.collect();
            if let Some(evidence) = evidence(cache, &cells) {
                found.push(DirectoryFinding {
                    section: index,
                    system,
                    fact: DirectoryFact::Cached(evidence),
                });
            }
        }
    }
    found
}

/// Fewest and most requests per operation among the repetitions of a cell; none without a count.
fn requests(aligned: &Aligned<'_>, row: &Row, system: usize) -> Option<(f64, f64)> {
    row.outcomes[system].as_ref()?.per_operation.requests_per_operation?;
    let steps = aligned.steps.at_system(&row.coordinates, system).iter();
    let counted = steps.filter(|step| step.verdict() != Verdict::Invalid && step.measure.operations > 0);
    let ratios = counted.filter_map(|step| {
        let requests = step.measure.wire.as_ref()?.requests;
        Some(requests as f64 / step.measure.operations as f64)
    });
    joined(ratios.map(|ratio| (ratio, ratio)))
}

/// The range that contains all ranges.
fn joined(ranges: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    ranges.reduce(|(low, high), (one, other)| (low.min(one), high.max(other)))
}

/// What the requests of the cells say. An operation that no cache answers takes at least one request, so that the
/// requests per operation are the largest share of the operations that reached the server. The kernel counts all users of the
/// mount, which makes this share larger than it is, never smaller.
fn evidence(cache: NameCache, cells: &[(f64, f64)]) -> Option<NameCacheEvidence> {
    let answered: Vec<_> = cells.iter().copied().filter(|(_, high)| *high < 1.0).collect();
    // A page of a listing holds as many entries as the server chooses: only the absence of requests says something.
    let is_conclusive =
        cache != NameCache::Listing || joined(answered.iter().copied()).is_some_and(|all| all.1 == 0.0);
    let requests = joined(cells.iter().copied())?;
    let cached = if is_conclusive { answered.len() } else { 0 };
    let of_cached = joined(answered.into_iter()).filter(|_| cached > 0);
    Some(NameCacheEvidence { cache, requests: of_cached.unwrap_or(requests), cached, cells: cells.len() })
}
