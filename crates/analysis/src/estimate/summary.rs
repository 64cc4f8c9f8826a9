//! Many cells in one number: the geometric mean over cells, with repetitions as replicates.

use sharebench_stats::{Estimate, Interval, SMALLEST_SAMPLE_95, hodges_lehmann, separate_log_ratio};

use crate::estimate::cell_mean::cell_mean;
use crate::estimate::pairing::Pairs;
use crate::estimate::ratio::{judged, log_ratio};
use crate::types::{
    CachedCells, DIFFERENCE_LEVEL, MeanRatio, Options, Pairing, Ratio, RatioVerdict, StalledCells, Summary,
    UnequalStorage, VerdictCounts,
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

/// The mean over the cells given: every cell with six repetitions or more, and every cell if all have fewer.
fn over(cells: &[&Pairs], ratios: &[&Ratio], options: &Options) -> Option<Summary> {
    let repeated: Vec<&Pairs> = cells.iter().copied().filter(|cell| cell.is_repeated()).collect();
    let counted = if repeated.is_empty() { cells } else { &repeated };
    let pairing = counted.iter().map(|cell| cell.pairing).max()?;
    let (log, wider) = mean(counted, pairing, !repeated.is_empty(), options)?;
    let wider = wider.filter(|_| pairing == Pairing::Interleaved);
    let allowance = counted.iter().map(|cell| cell.clock_allowance()).sum::<f64>() / counted.len() as f64;
    let log = log.widened(allowance);
    let wider = wider.and_then(|wider| wider.widened(allowance).interval);
    let scatter = options.run_scatter.filter(|_| pairing == Pairing::NotInterleaved);
    let log = scatter.map_or(log, |scatter| scatter.included(&log, options.level));
    let is_equal = RatioVerdict::new(&log, options.tolerance) == RatioVerdict::AboutTheSame;
    let of_equal = || StalledCells::of_equal(ratios).filter(|_| is_equal);
    let stalled = StalledCells::from_ratios(ratios).or_else(of_equal);
    let work = stalled.map(|stalled| with_total_work(&log, &stalled, counted.len()));
    let (verdict, unresolved) = judged(&log, work.as_ref(), allowance, options.tolerance);
    let single = || ratios.iter().filter_map(|ratio| ratio.single_run);
    let fewest = counted.iter().map(|cell| cell.replicates()).min().unwrap_or(0);
    Some(Summary {
        typical: log.map(f64::exp),
        verdict,
        differs: wider.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0),
        varies: false,
        pairing,
        fewest_repetitions: fewest.min(log.n),
        cells: counted.len(),
        incomplete_cells: cells.len() - counted.len(),
        cached: None,
        unequal_storage: None,
        counts: VerdictCounts::from_ratios(ratios.iter().copied()),
        stalled,
        repetitions_needed: unresolved.and_then(|unresolved| unresolved.repetitions),
        obstacle: unresolved.map(|unresolved| unresolved.obstacle),
        single_runs: (single().count(), single().filter(|single| single.resolved).count()),
        equal_share: single().find_map(|single| single.equal_share),
        spread_known: single().any(|single| single.spread_share.is_some()),
    })
}

/// The mean log ratio over cells with the total work of those in which stalls decide, instead of their typical ratios. The widths
/// add up, however the cells depend on each other.
fn with_total_work(log: &Estimate, stalled: &StalledCells, cells: usize) -> Estimate {
    let share = (stalled.cells as f64 / cells as f64).min(1.0);
    let work = stalled.total_work.map(f64::ln);
    let value = log.value + share * (work.value - stalled.typical.value.ln());
    let interval = log.interval.zip(work.interval).map(|(others, of_work)| {
        let below = (1.0 - share) * (log.value - others.low) + share * (work.value - of_work.low);
        let above = (1.0 - share) * (others.high - log.value) + share * (of_work.high - work.value);
        Interval::new(value - below, value + above)
    });
    Estimate { value, interval, n: log.n }
}

/// Mean log ratio over cells, and the same with the wider interval that shows a difference of any size.
fn mean(
    cells: &[&Pairs],
    pairing: Pairing,
    is_repeated: bool,
    options: &Options,
) -> Option<(Estimate, Option<Estimate>)> {
    let wider_level = DIFFERENCE_LEVEL.max(options.level);
    match (cells, pairing) {
        // The mean of one cell is the number that its table shows.
        ([cell], Pairing::Interleaved) => {
            Some((log_ratio(cell, options.level)?, hodges_lehmann(&cell.log_ratios(), wider_level)))
        }
        ([cell], Pairing::NotInterleaved) => Some((log_ratio(cell, options.level)?, None)),
        _ if is_repeated => {
            let series: Vec<_> = cells.iter().map(|cell| cell.series()).collect();
            cell_mean(series, options.level, wider_level).map(|[mean, wider]| (mean, Some(wider)))
        }
        // Without interleaving, changes over time make a small difference of equal systems.
        (_, Pairing::NotInterleaved) => {
            let rates_a = geometric_means(cells, |cell| &cell.rates_a);
            let rates_b = geometric_means(cells, |cell| &cell.rates_b);
            Some((separate_log_ratio(&rates_a, &rates_b, options.level)?, None))
        }
        // What a reader of the cells would find: their ratios' geometric mean.
        (_, Pairing::SingleRun | Pairing::Interleaved) => {
            let ratios = cells.iter().map(|cell| Some(log_ratio(cell, options.level)?.value));
            let sum: f64 = ratios.sum::<Option<f64>>()?;
            let n = if pairing == Pairing::SingleRun {
                1
            } else {
                cells.iter().map(|cell| cell.replicates()).min().unwrap_or(0)
            };
            Some((Estimate { value: sum / cells.len() as f64, interval: None, n }, None))
        }
    }
}

/// Geometric mean over cells of the k-th repetition's rate.
fn geometric_means(cells: &[&Pairs], rates: impl Fn(&Pairs) -> &Vec<f64>) -> Vec<f64> {
    let fewest = cells.iter().map(|cell| rates(cell).len()).min().unwrap_or(0);
    (0..fewest)
        .map(|k| (cells.iter().map(|cell| rates(cell)[k].ln()).sum::<f64>() / cells.len() as f64).exp())
        .collect()
}

impl Pairs {
    /// Number of its repetitions that have a counterpart.
    pub(crate) fn replicates(&self) -> usize {
        self.rates_a.len().min(self.rates_b.len())
    }

    /// True with enough repetitions for an interval.
    pub(crate) fn is_repeated(&self) -> bool {
        self.pairing != Pairing::SingleRun && self.replicates() >= SMALLEST_SAMPLE_95
    }
}
