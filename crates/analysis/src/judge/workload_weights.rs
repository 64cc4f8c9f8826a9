//! Cells weighted by what a user does with files: one ratio with its interval.
//!
//! The bytes of each kind of request take the time that they take at the nearest cell. The comparison is of the time for
//! all of them together.

use std::collections::BTreeMap;

use sharebench_model::axis;
use sharebench_stats::{Estimate, hodges_lehmann, separate_log_ratio};

use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::types::{
    Comparison, Options, Pairing, RateUnit, RatioVerdict, Section, View, Weight, WeightedComparison, Weights,
};

/// A cell stands for sizes up to this factor away.
const NEAR: f64 = 4.0;

/// Less than this share of the bytes at cells is no answer.
const MIN_COVERED: f64 = 0.5;

/// A cell with the bytes that it stands for.
struct Share<'a> {
    pairs: &'a Pairs,
    bytes: f64,
}

/// Every comparison of an aligned, estimated, weighed.
pub(crate) fn weighed(
    estimated: &Estimated,
    comparisons: &[Comparison],
    weights: &Weights,
    options: &Options,
) -> Vec<WeightedComparison> {
    let all: f64 = weights.parts.iter().map(|part| part.bytes).sum();
    let of = |comparison: usize| {
        let mut shares: BTreeMap<(usize, usize), Share<'_>> = BTreeMap::new();
        for part in &weights.parts {
            let Some((section, row)) = nearest(estimated, comparison, part) else { continue };
            let Some(found) = estimated.pairs[section][comparison][row].as_ref() else { continue };
            shares.entry((section, row)).or_insert(Share { pairs: found, bytes: 0.0 }).bytes += part.bytes;
        }
        let shares: Vec<Share<'_>> = shares.into_values().collect();
        let covered = shares.iter().map(|share| share.bytes).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        let found = (covered >= MIN_COVERED).then(|| total(&shares, options)).flatten();
        let verdict = found
            .as_ref()
            .map_or(RatioVerdict::NotResolved, |(log, _)| RatioVerdict::new(log, options.tolerance));
        let pairing = found.as_ref().map(|(_, pairing)| *pairing);
        let ratio = found.map(|(log, _)| log.map(f64::exp));
        WeightedComparison {
            comparison,
            name: weights.name.clone(),
            ratio,
            verdict,
            covered,
            cells: shares.len(),
            cached_on_one_side: cached_on_one_side(&shares),
            pairing,
        }
    };
    (0..comparisons.len()).map(of).collect()
}

/// Tests that do what a part does, the one that fits best first.
fn tests(part: &Weight) -> &'static [&'static str] {
    match (part.write, part.random) {
        (false, false) => &["read", "reread", "random-read"],
        (false, true) => &["random-read"],
        (true, false) => &["write", "rewrite", "random-write"],
        (true, true) => &["random-write"],
    }
}

/// Section and row of the compared cell that stands for a part; none where there is none near.
fn nearest(estimated: &Estimated, comparison: usize, part: &Weight) -> Option<(usize, usize)> {
    tests(part).iter().find_map(|test| {
        let wanted = |section: &Section| {
            section.title == *test && section.view != View::Load && section.unit == RateUnit::BytesPerSecond
        };
        let section = estimated.sections.iter().position(wanted)?;
        let rows = estimated.sections[section].rows.iter().enumerate();
        let distance = |at: &sharebench_model::Coordinates| {
            let off = |axis: &str, size: u64| {
                let there = at.number(axis)? as f64;
                Some((there / size.max(1) as f64).ln().abs())
            };
            let far = NEAR.ln() + 1e-9;
            let file = off(axis::FILE_SIZE, part.file_size).filter(|off| *off <= far)?;
            let record = off(axis::RECORD_SIZE, part.record_size).filter(|off| *off <= far)?;
            // One request at a time unless nothing else was measured.
            Some((file + record, at.number(axis::QUEUE_DEPTH).unwrap_or(1)))
        };
        let near = rows.filter(|(_, row)| row.ratios[comparison].is_some());
        let near = near.filter_map(|(row, found)| Some((distance(&found.coordinates)?, row)));
        let best = near.min_by(|((x, p), _), ((y, q), _)| x.total_cmp(y).then(p.cmp(q)))?;
        Some((section, best.1))
    })
}

/// ln of the ratio of work done in the same time, `a` over `b`, and what it rests on.
fn total(shares: &[Share<'_>], options: &Options) -> Option<(Estimate, Pairing)> {
    let pairing = shares.iter().map(|share| share.pairs.pairing).max()?;
    let sweeps: Vec<BTreeMap<u32, (f64, f64)>> = shares.iter().map(|share| share.pairs.by_sweep()).collect();
    let common: Vec<u32> = sweeps
        .first()?
        .keys()
        .copied()
        .filter(|sweep| sweeps.iter().all(|rates| rates.contains_key(sweep)))
        .collect();
    let speeds = |sweep: &u32| {
        let mut times = (0.0, 0.0);
        for (share, rates) in shares.iter().zip(&sweeps) {
            let (a, b) = rates[sweep];
            times.0 += share.bytes / a;
            times.1 += share.bytes / b;
        }
        (1.0 / times.0, 1.0 / times.1)
    };
    let speeds: Vec<(f64, f64)> = common.iter().map(speeds).collect();
    let log = match pairing {
        Pairing::Interleaved => {
            let logs: Vec<f64> = speeds.iter().map(|(a, b)| (a / b).ln()).collect();
            hodges_lehmann(&logs, options.level)?
        }
        Pairing::NotInterleaved => {
            let (a, b): (Vec<f64>, Vec<f64>) = speeds.into_iter().unzip();
            separate_log_ratio(&a, &b, options.level)?
        }
        Pairing::SingleRun => {
            let (a, b) = speeds.first()?;
            Estimate { value: (a / b).ln(), interval: None, n: 1 }
        }
    };
    let clocks = shares.iter().map(|share| share.pairs.clock_allowance()).fold(0.0, f64::max);
    Some((log.widened(clocks), pairing))
}

fn cached_on_one_side(shares: &[Share<'_>]) -> f64 {
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let time = |share: &Share<'_>| {
        share.bytes / mean(&share.pairs.rates_a).min(mean(&share.pairs.rates_b)).max(f64::MIN_POSITIVE)
    };
    let all: f64 = shares.iter().map(time).sum();
    let one_sided = shares.iter().filter(|share| share.pairs.cached.0 != share.pairs.cached.1);
    one_sided.map(time).sum::<f64>() / all.max(f64::MIN_POSITIVE)
}
