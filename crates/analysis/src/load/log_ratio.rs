//! Ratios of figures over repetitions, one at a time and several together.

use std::collections::BTreeMap;

use sharebench_stats::{Estimate, Interval, hodges_lehmann, separate_log_ratio, student_quantile};

use crate::types::Pairing;

/// A figure of each repetition.
pub(crate) type ByRepetition = BTreeMap<u32, f64>;

/// Asymptotic efficiency of the Hodges-Lehmann estimate under normal noise, as a factor of the standard error:
/// sqrt(pi / 3).
const STANDARD_ERROR: f64 = 1.023_327;

/// Fewest repetitions that support an interval.
const FEWEST: usize = 6;

/// ln(a/b) of two figures with its interval: paired by repetition where the systems took turns.
pub(crate) fn log_ratio(
    a: &ByRepetition,
    b: &ByRepetition,
    pairing: Pairing,
    level: f64,
) -> Option<Estimate> {
    match pairing {
        Pairing::Interleaved => hodges_lehmann(&paired(a, b), level),
        _ => separately(a, b, level),
    }
}

/// The same for each of several steps. The intervals hold at `level` for all of them together (Bonferroni): signed ranks
/// of six repetitions cannot reach such levels, so these intervals are Student's around the Hodges-Lehmann estimate.
pub(crate) fn simultaneous_log_ratios(
    steps: &[(&ByRepetition, &ByRepetition)],
    pairing: Pairing,
    level: f64,
) -> Vec<Option<Estimate>> {
    let tail = (1.0 - level) / steps.len().max(1) as f64;
    let of_step = |(a, b): &(&ByRepetition, &ByRepetition)| match pairing {
        Pairing::Interleaved => student(&paired(a, b), tail),
        _ => separately(a, b, 1.0 - tail),
    };
    steps.iter().map(of_step).collect()
}

fn paired(a: &ByRepetition, b: &ByRepetition) -> Vec<f64> {
    let both = a.iter().filter_map(|(repetition, value)| Some((value / b.get(repetition)?).ln()));
    both.collect()
}

fn separately(a: &ByRepetition, b: &ByRepetition, level: f64) -> Option<Estimate> {
    let values = |side: &ByRepetition| side.values().copied().collect::<Vec<f64>>();
    separate_log_ratio(&values(a), &values(b), level)
}

/// Hodges-Lehmann estimate with Student's interval, whose tails together have the probability `tail`.
fn student(logs: &[f64], tail: f64) -> Option<Estimate> {
    let estimate = hodges_lehmann(logs, 1.0 - tail)?;
    let n = logs.len() as f64;
    if logs.len() < FEWEST {
        return Some(Estimate { interval: None, ..estimate });
    }
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student_quantile(1.0 - tail / 2.0, n - 1.0) * STANDARD_ERROR * (variance / n).sqrt();
    Some(Estimate { interval: Some(Interval::new(estimate.value - half, estimate.value + half)), ..estimate })
}
