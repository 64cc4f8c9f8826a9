//! Changes of level in several series of the same runs, such as nightly measurements.
//!
//! Without a change the runs are exchangeable: their order carries no information. The test statistic is the largest
//! standardised difference between the runs before and after any run, over all series at once. It is compared with the
//! same statistic of shuffled runs (a max-T permutation test: Westfall, Young: Resampling-Based Multiple Testing,
//! 1993), so that the error holds for the whole table. A change divides the runs, and each part is tested again at half
//! the level, so that the error of all parts together stays within the given one.

use std::ops::Range;

use sharebench_model::Random;

use crate::winsorise::Robust;

/// Fewest runs of a series, and fewest on either side of a change.
const FEWEST: usize = 6;
const SIDE: usize = 2;
/// Shuffles.
const SHUFFLES: usize = 999;

/// A run at which the level of some series changes.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelShift {
    /// First run of the new level.
    pub at: usize,
    /// Probability of a change of this size anywhere in these runs if there is none.
    pub p_value: f64,
    /// Which series changed there.
    pub series: Vec<usize>,
}

/// The changes in `series`, each with one value per run (logarithms of rates), in the order of the runs; a false one in
/// at most `error` of cases without any. Series of unequal length are cut to the shortest.
pub fn level_shifts(series: &[Vec<f64>], error: f64, seed: u64) -> Vec<LevelShift> {
    let runs = series.iter().map(Vec::len).min().unwrap_or(0);
    let usable = series.iter().flatten().all(|value| value.is_finite());
    let mut found = Vec::new();
    if usable {
        let mut random = Random::new(seed, 0x5E41);
        divide(series, 0..runs, error, &mut random, &mut found);
    }
    found.sort_by_key(|shift| shift.at);
    found
}

fn divide(
    series: &[Vec<f64>],
    runs: Range<usize>,
    error: f64,
    random: &mut Random,
    found: &mut Vec<LevelShift>,
) {
    let n = runs.len();
    if n < FEWEST {
        return;
    }
    let part: Vec<Vec<f64>> = series.iter().map(|values| standardised(&values[runs.clone()])).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let Some((highest, at)) = highest(&part, &order) else { return };
    let mut null: Vec<f64> = Vec::with_capacity(SHUFFLES);
    for _ in 0..SHUFFLES {
        random.shuffle(&mut order);
        null.push(self::highest(&part, &order).map_or(0.0, |(statistic, _)| statistic));
    }
    // A shuffle that divides the runs in the same way adds them in another order, so that the sums differ by rounding.
    let reached = highest * (1.0 - 1e-12);
    let above = null.iter().filter(|statistic| **statistic >= reached).count();
    // The order that was observed is one of the permutations, so p is never 0.
    let p_value = (above + 1) as f64 / (SHUFFLES + 1) as f64;
    if p_value > error {
        return;
    }
    null.sort_unstable_by(f64::total_cmp);
    let critical = null[(((1.0 - error) * SHUFFLES as f64) as usize).min(SHUFFLES - 1)].min(reached);
    let straight: Vec<usize> = (0..n).collect();
    let changed = |values: &Vec<f64>| statistic(values, &straight, at) >= critical;
    let series_changed = (0..part.len()).filter(|index| changed(&part[*index])).collect();
    let at = runs.start + at;
    found.push(LevelShift { at, p_value, series: series_changed });
    // Half of the error for each part, so that all parts together stay within it.
    divide(series, runs.start..at, error / 2.0, random, found);
    divide(series, at..runs.end, error / 2.0, random, found);
}

/// Winsorised, centred and scaled; all zeros if the values do not vary.
fn standardised(values: &[f64]) -> Vec<f64> {
    let robust = Robust::from_values(values);
    let values: Vec<f64> = values.iter().map(|value| robust.hold(*value, 0.0)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
    // A constant series has no scale; zeros take part without ever being the maximum.
    let scale = if deviation > 1e-12 { 1.0 / deviation } else { 0.0 };
    values.iter().map(|value| (value - mean) * scale).collect()
}

/// The largest statistic over all series and runs, and its run.
fn highest(series: &[Vec<f64>], order: &[usize]) -> Option<(f64, usize)> {
    let n = order.len();
    let mut best: Option<(f64, usize)> = None;
    for values in series {
        let mut sum = 0.0;
        for (before, index) in order.iter().take(n - SIDE).enumerate() {
            sum += values[*index];
            let at = before + 1;
            let statistic = standing(sum, at, n);
            if at >= SIDE && best.is_none_or(|(known, _)| statistic > known) {
                best = Some((statistic, at));
            }
        }
    }
    best
}

fn statistic(values: &[f64], order: &[usize], at: usize) -> f64 {
    standing(order[..at].iter().map(|index| values[*index]).sum(), at, values.len())
}

/// Distance of the sum of the first `at` of `n` standardised values from zero, in standard deviations of that sum.
fn standing(sum: f64, at: usize, n: usize) -> f64 {
    sum.abs() / ((at * (n - at)) as f64 / (n - 1) as f64).sqrt()
}
