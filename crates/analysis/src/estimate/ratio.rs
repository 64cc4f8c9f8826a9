//! The ratio of two systems at one position.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::{
    Estimate, hodges_lehmann, median, repetitions_needed, separate_log_ratio, signed_rank_p_value,
};

use crate::align::rates::rate;
use crate::estimate::pairing::Pairs;
use crate::types::{Options, Pairing, RateUnit, Ratio, RatioVerdict, RunData, SingleRun};

impl SingleRun {
    fn of(log: &Estimate, pairs: &Pairs, options: &Options) -> Self {
        let known = pairs.clocks_ns.0.is_some() && pairs.clocks_ns.1.is_some();
        let clock_share = known.then(|| pairs.clock_allowance());
        let equal_share = options.equal_spread.map(|spread| 3.0 * spread);
        let spreads = [&pairs.rates_a, &pairs.rates_b].into_iter().filter_map(|rates| {
            (rates.len() >= 3).then(|| robust_spread(rates.iter().map(|rate| rate.ln()).collect()))?
        });
        let spread_share = spreads.reduce(f64::max).map(|spread| 3.0 * spread);
        // The nearer of ratio and inverse ratio, so that the order of the two does not matter.
        let distance = log.value.exp_m1().abs().min((-log.value).exp_m1().abs());
        let judged = clock_share.is_some() || equal_share.is_some();
        // Spreads are of logarithms and unbounded, so that a ratio that is large enough always exceeds them.
        let beyond = |spread: Option<f64>| spread.is_none_or(|spread| log.value.abs() > spread);
        let resolved = judged
            && clock_share.is_none_or(|share| distance > share)
            && beyond(equal_share)
            && beyond(spread_share);
        Self { clock_share, equal_share, spread_share, resolved }
    }
}

/// Robust standard deviation (1.4826 MAD) of the log ratios of two runs that are declared to be equal, over the
/// positions that both have; none with fewer than three of them.
pub fn declared_equal_spread(one: &RunData, other: &RunData) -> Option<f64> {
    let rates = |run: &RunData| -> BTreeMap<Coordinates, f64> {
        let rate = |step: &StepResult| {
            let unit = if step.measure.bytes.total() > 0 {
                RateUnit::BytesPerSecond
            } else {
                RateUnit::OperationsPerSecond
            };
            Some((step.coordinates.clone(), rate(&step.measure, unit)?))
        };
        run.steps.iter().filter(|step| step.verdict() != Verdict::Invalid).filter_map(rate).collect()
    };
    let one = rates(one);
    let other = rates(other);
    let both = one.iter().filter_map(|(at, rate)| Some((rate / other.get(at)?).ln()));
    let logs: Vec<f64> = both.collect();
    if logs.len() < 3 { None } else { robust_spread(logs) }
}

/// 1.4826 MAD.
fn robust_spread(mut logs: Vec<f64>) -> Option<f64> {
    let middle = median(&mut logs)?;
    let mut apart: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
    Some(1.4826 * median(&mut apart)?)
}

/// How far typical and total-work ratio may be apart.
const STALL_GAP: f64 = 0.03;

/// Compares two systems at one position; none when one of them has nothing to compare.
pub(crate) fn ratio(pairs: &Pairs, options: &Options) -> Option<Ratio> {
    let log = log_ratio(pairs, options.level)?.widened(pairs.clock_allowance());
    let total = pairs.total_work(options);
    let verdict = RatioVerdict::of(&log, options.tolerance);
    let interleaved = pairs.pairing == Pairing::Interleaved;
    Some(Ratio {
        typical: log.map(f64::exp),
        stalls_decide: total.is_some_and(|total| (total.value - log.value).abs() > STALL_GAP.ln_1p()),
        total_work: total.map(|total| total.map(f64::exp)),
        verdict,
        pairing: pairs.pairing,
        client_cached: pairs.is_client_cached(),
        p_value: interleaved.then(|| signed_rank_p_value(&pairs.log_ratios())),
        q_value: None,
        repetitions_needed: repetitions(&log, verdict, options.tolerance),
        single_run: (pairs.pairing == Pairing::SingleRun).then(|| SingleRun::of(&log, pairs, options)),
    })
}

/// The log ratio by the strongest method that the evidence allows.
pub(crate) fn log_ratio(pairs: &Pairs, level: f64) -> Option<Estimate> {
    match pairs.pairing {
        Pairing::Interleaved => hodges_lehmann(&pairs.log_ratios(), level),
        _ => separate_log_ratio(&pairs.rates_a, &pairs.rates_b, level),
    }
}

/// How many repetitions would bring the interval to one side of the nearer edge of the tolerance.
pub(crate) fn repetitions(log: &Estimate, verdict: RatioVerdict, tolerance: f64) -> Option<usize> {
    if verdict != RatioVerdict::NotResolved {
        return None;
    }
    let distance = (log.value.abs() - tolerance.ln_1p()).abs();
    match log.interval {
        Some(interval) => repetitions_needed(log.n, interval.half_width(), distance),
        None => Some(sharebench_stats::SMALLEST_SAMPLE_95.max(log.n + 1)),
    }
}
