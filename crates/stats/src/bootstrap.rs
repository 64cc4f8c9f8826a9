//! Total work: the ratio of sums over pairs, with a symmetric studentised bootstrap interval.
//!
//! Source: Hall, Annals of Statistics 16 (1988) 927; Efron and Tibshirani: An Introduction to the Bootstrap, 12.5. A
//! bias-corrected and accelerated interval covers 83 to 87 % with 6 to 10 pairs, and this one 95 to 96 %.

use sharebench_model::Random;

use crate::{Estimate, Interval};

/// What one system did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Bytes moved (or anything else that is counted).
    pub amount: f64,
    /// Seconds it took (or any unit, the same on both sides).
    pub time: f64,
}

/// Fewest pairs for resampling.
const MIN_PAIRS: usize = 6;
/// Least standard error of a resample, as a share of that of the sample: one that drew few different pairs has hardly any.
const MIN_ERROR: f64 = 0.5;

/// ln of (sum of amounts / sum of times) of the first over the same of the second, resampling whole
/// pairs `resamples` times. None when a sum is not positive.
pub fn total_work_log_ratio(
    pairs: &[(Work, Work)],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Estimate> {
    let total = TotalRatio::new(pairs.iter());
    if !total.log.is_finite() {
        return None;
    }
    let interval =
        (pairs.len() >= MIN_PAIRS).then(|| interval(pairs, total, level, resamples, seed)).flatten();
    Some(Estimate { value: total.log, interval, n: pairs.len() })
}

/// Ratio of sums with its standard error.
#[derive(Clone, Copy)]
struct TotalRatio {
    log: f64,
    error: f64,
}

impl TotalRatio {
    fn new<'a>(pairs: impl ExactSizeIterator<Item = &'a (Work, Work)> + Clone) -> Self {
        let n = pairs.len() as f64;
        let mut sums = [0.0; 4];
        for pair in pairs.clone() {
            for (sum, value) in sums.iter_mut().zip(parts(pair)) {
                *sum += value;
            }
        }
        let [amount_a, time_a, amount_b, time_b] = sums;
        // What each pair adds to the logarithm, by its linear part; these add up to zero.
        let squares: f64 = pairs
            .map(|pair| {
                let [a, ta, b, tb] = parts(pair);
                (a / amount_a - ta / time_a - b / amount_b + tb / time_b).powi(2)
            })
            .sum();
        Self { log: (amount_a / time_a / (amount_b / time_b)).ln(), error: (squares * n / (n - 1.0)).sqrt() }
    }
}

fn parts((a, b): &(Work, Work)) -> [f64; 4] {
    [a.amount, a.time, b.amount, b.time]
}

fn interval(
    pairs: &[(Work, Work)],
    total: TotalRatio,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let mut random = Random::new(seed, 0);
    let mut drawn: Vec<&(Work, Work)> = Vec::with_capacity(pairs.len());
    let mut distances: Vec<f64> = (0..resamples)
        .filter_map(|_| {
            drawn.clear();
            drawn.extend(pairs.iter().map(|_| &pairs[random.below(pairs.len() as u64) as usize]));
            let again = TotalRatio::new(drawn.iter().copied());
            let distance = (again.log - total.log).abs();
            // A resample may draw only pairs without work; its ratio has no logarithm.
            if !distance.is_finite() {
                return None;
            }
            // Equal pairs have no spread: 0 / 0.
            let error = again.error.max(MIN_ERROR * total.error).max(f64::MIN_POSITIVE);
            Some(distance / error)
        })
        .collect();
    if distances.is_empty() {
        return None;
    }
    let index = (level * (distances.len() as f64 + 1.0)).ceil().clamp(1.0, distances.len() as f64);
    let reach = *distances.select_nth_unstable_by(index as usize - 1, f64::total_cmp).1 * total.error;
    Some(Interval::new(total.log - reach, total.log + reach))
}
