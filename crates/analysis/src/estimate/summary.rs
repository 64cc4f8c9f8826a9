//! Many cells in one number: the geometric mean over cells, with whole repetitions as replicates.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_stats::{Estimate, hodges_lehmann, separate_log_ratio};

use crate::estimate::pairing::Pairs;
use crate::estimate::ratio::{Unresolved, log_ratio};
use crate::types::{
    CachedCells, DIFFERENCE_LEVEL, MeanRatio, Options, Pairing, Ratio, RatioVerdict, Summary, UnequalStorage,
    VerdictCounts,
};

/// Sums up the cells of one comparison; none without a cell.
///
/// Cells that a client's cache served say nothing of a server, so they are excluded if there are others; the
/// mean over all cells is a field of its own.
pub(crate) fn summary<'a>(
    cells: &[&Pairs],
    ratios: impl Iterator<Item = &'a Ratio>,
    options: &Options,
) -> Option<Summary> {
    let (cached, crossed): (Vec<&Pairs>, Vec<&Pairs>) =
        cells.iter().partition(|cell| cell.is_client_cached());
    let ratios: Vec<&Ratio> = ratios.collect();
    let all = || over(cells, &ratios, options);
    let of = |summary: Summary| MeanRatio {
        typical: summary.typical,
        verdict: summary.verdict,
        cells: summary.cells,
    };
    let apart = cells.iter().filter(|cell| cell.has_unequal_storage() && !cell.is_client_cached()).count();
    let unequal_storage = (apart > 0).then(|| {
        let alike: Vec<&Pairs> = crossed.iter().copied().filter(|cell| !cell.has_unequal_storage()).collect();
        UnequalStorage { cells: apart, alike: over(&alike, &[], options).map(of) }
    });
    if cached.is_empty() {
        return all().map(|summary| Summary { unequal_storage, ..summary });
    }
    let one_sided = cached.iter().filter(|cell| cell.cached.0 != cell.cached.1).count();
    let alike: Vec<&Pairs> = cells.iter().copied().filter(|cell| cell.has_equal_cache_share()).collect();
    let equal_cache_share = over(&alike, &[], options).map(of);
    let cached_cells =
        |all_cells| Some(CachedCells { cells: cached.len(), one_sided, all_cells, equal_cache_share });
    if crossed.is_empty() {
        return all().map(|summary| Summary { cached: cached_cells(None), ..summary });
    }
    let felt = all().map(of);
    let ratios: Vec<&Ratio> = ratios.iter().copied().filter(|ratio| !ratio.client_cached).collect();
    over(&crossed, &ratios, options).map(|summary| Summary {
        cached: cached_cells(felt),
        unequal_storage,
        ..summary
    })
}

/// The mean over all the cells given.
///
/// Cells of one repetition share its conditions, so they are averaged first and only repetitions count as
/// independent.
fn over(cells: &[&Pairs], ratios: &[&Ratio], options: &Options) -> Option<Summary> {
    let (complete, repetitions_shared) = complete(cells)?;
    let pairing = complete.iter().map(|cell| cell.pairing).max()?;
    let (log, wider) = match pairing {
        Pairing::Interleaved => {
            let logs = by_repetition(&complete, &repetitions_shared);
            (
                hodges_lehmann(&logs, options.level)?,
                hodges_lehmann(&logs, DIFFERENCE_LEVEL.max(options.level)),
            )
        }
        // What a reader of the cells would find: their ratios' geometric mean.
        Pairing::SingleRun => {
            let ratios = complete.iter().map(|cell| Some(log_ratio(cell, options.level)?.value));
            let sum: f64 = ratios.sum::<Option<f64>>()?;
            (Estimate { value: sum / complete.len() as f64, interval: None, n: 1 }, None)
        }
        // Without interleaving, changes over time make a small difference of equal systems.
        Pairing::NotInterleaved => {
            let rates_a = geometric_means(&complete, |cell| &cell.rates_a);
            let rates_b = geometric_means(&complete, |cell| &cell.rates_b);
            (separate_log_ratio(&rates_a, &rates_b, options.level)?, None)
        }
    };
    let allowance = complete.iter().map(|cell| cell.clock_allowance()).sum::<f64>() / complete.len() as f64;
    let log = log.widened(allowance);
    let wider = wider.and_then(|wider| wider.widened(allowance).interval);
    let scatter = options.run_scatter.filter(|_| pairing == Pairing::NotInterleaved);
    let log = scatter.map_or(log, |scatter| scatter.included(&log, options.level));
    let verdict = RatioVerdict::of(&log, options.tolerance);
    let unresolved = Unresolved::of(&log, allowance, verdict, options.tolerance);
    let single = || ratios.iter().filter_map(|ratio| ratio.single_run);
    Some(Summary {
        typical: log.map(f64::exp),
        verdict,
        differs: wider.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0),
        pairing,
        cells: complete.len(),
        incomplete_cells: cells.len() - complete.len(),
        cached: None,
        unequal_storage: None,
        counts: VerdictCounts::of(ratios.iter().copied()),
        stalls: ratios.iter().filter(|ratio| ratio.stalls_decide).count(),
        repetitions_needed: unresolved.and_then(|unresolved| unresolved.repetitions),
        obstacle: unresolved.map(|unresolved| unresolved.obstacle),
        single_runs: (single().count(), single().filter(|single| single.resolved).count()),
        equal_share: single().find_map(|single| single.equal_share),
        spread_known: single().any(|single| single.spread_share.is_some()),
    })
}

/// The cells to average, and the repetitions they share: of all cuts by number of repetitions the one that
/// keeps most pairs, so that neither a lost repetition nor a lost cell throws the rest away.
fn complete<'a>(cells: &[&'a Pairs]) -> Option<(Vec<&'a Pairs>, BTreeSet<u32>)> {
    let replicates = |cell: &Pairs| cell.rates_a.len().min(cell.rates_b.len());
    let cuts: BTreeSet<usize> = cells.iter().map(|cell| replicates(cell)).collect();
    let cut = |least: usize| {
        let kept: Vec<&Pairs> = cells.iter().copied().filter(|cell| replicates(cell) >= least).collect();
        let mut shared: BTreeSet<u32> =
            kept.first().map(|c| c.repetitions.iter().copied().collect()).unwrap_or_default();
        for cell in &kept {
            shared.retain(|repetition| cell.repetitions.contains(repetition));
        }
        let paired = kept.iter().all(|cell| cell.pairing == Pairing::Interleaved);
        let depth = if paired { shared.len() } else { least };
        (kept.len() * depth, kept, shared)
    };
    let best = cuts.into_iter().map(cut).max_by_key(|(pairs, ..)| *pairs)?;
    Some((best.1, best.2))
}

/// Mean log ratio over cells, per repetition.
fn by_repetition(cells: &[&Pairs], shared: &BTreeSet<u32>) -> Vec<f64> {
    let mut sums: BTreeMap<u32, f64> = shared.iter().map(|repetition| (*repetition, 0.0)).collect();
    for cell in cells {
        for (repetition, d) in cell.repetitions.iter().zip(cell.log_ratios()) {
            if let Some(sum) = sums.get_mut(repetition) {
                *sum += d;
            }
        }
    }
    sums.into_values().map(|sum| sum / cells.len() as f64).collect()
}

/// Geometric mean over cells of the k-th repetition's rate.
fn geometric_means(cells: &[&Pairs], rates: impl Fn(&Pairs) -> &Vec<f64>) -> Vec<f64> {
    let fewest = cells.iter().map(|cell| rates(cell).len()).min().unwrap_or(0);
    (0..fewest)
        .map(|k| (cells.iter().map(|cell| rates(cell)[k].ln()).sum::<f64>() / cells.len() as f64).exp())
        .collect()
}
