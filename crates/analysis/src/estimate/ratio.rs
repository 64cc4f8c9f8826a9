//! The ratio of two systems at one position.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::{
    Estimate, hodges_lehmann, median, repetitions_needed, separate_log_ratio, signed_rank_p_value,
};

use crate::align::rates::rate;
use crate::estimate::pairing::Pairs;
use crate::types::{
    Obstacle, Options, Pairing, RateUnit, Ratio, RatioVerdict, RunData, STALL_GAP, SingleRun,
};

/// Allowance for clocks of which nothing is known. A time reads one tick at least and is off by less than one, so the
/// shorter time may be twice as long and the longer one shorter by the shorter: a ratio of r is really above (r - 1) / 2.
/// Above 3 the direction holds whatever the tick, and a ratio of 3 is this far from one.
const ANY_CLOCK: f64 = 2.0 / 3.0;

impl SingleRun {
    fn new(log: &Estimate, pairs: &Pairs, options: &Options) -> Self {
        let known = pairs.clocks_ns.0.is_some() && pairs.clocks_ns.1.is_some();
        let equal_share = options.equal_spread.map(|spread| 3.0 * spread);
        // Runs declared equal show what their clocks do.
        let unknown = equal_share.is_none().then_some(ANY_CLOCK);
        let clock_share = if known { Some(pairs.clock_allowance()) } else { unknown };
        let spreads = [&pairs.rates_a, &pairs.rates_b].into_iter().filter_map(|rates| {
            (rates.len() >= 3).then(|| robust_spread(rates.iter().map(|rate| rate.ln()).collect()))?
        });
        let spread_share = spreads.reduce(f64::max).map(|spread| 3.0 * spread);
        // The nearer of ratio and inverse ratio, so that the order of the two does not matter.
        let distance = log.value.exp_m1().abs().min((-log.value).exp_m1().abs());
        // Spreads are of logarithms and unbounded, so that a ratio that is large enough always exceeds them.
        let beyond = |spread: Option<f64>| spread.is_none_or(|spread| log.value.abs() > spread);
        let resolved =
            clock_share.is_none_or(|share| distance > share) && beyond(equal_share) && beyond(spread_share);
        Self { clock_share, equal_share, spread_share, resolved }
    }
}

/// Robust standard deviation (1.4826 MAD) of the log ratios of two runs that are declared to be equal, over the
/// positions that both have; none with fewer than three of them.
pub fn declared_equal_spread(one: &RunData, other: &RunData) -> Option<f64> {
    let rates = |run: &RunData| -> BTreeMap<Coordinates, f64> {
        let rate = |step: &StepResult| {
            let unit = if step.is_rated_in_bytes() {
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

/// Compares two systems at one position; none when one of them has nothing to compare.
pub(crate) fn ratio(pairs: &Pairs, options: &Options) -> Option<Ratio> {
    let clock = pairs.clock_allowance();
    let log = log_ratio(pairs, options.level)?.widened(clock);
    let total = pairs.total_work(options);
    let stalls_decide = total.is_some_and(|total| differ_beyond_chance(&log, &total));
    let work = total.filter(|_| stalls_decide);
    let (verdict, unresolved) = judged(&log, work.as_ref(), clock, options.tolerance);
    let interleaved = pairs.pairing == Pairing::Interleaved;
    Some(Ratio {
        typical: log.map(f64::exp),
        stalls_decide,
        total_work: total.map(|total| total.map(f64::exp)),
        verdict,
        pairing: pairs.pairing,
        client_cached: pairs.is_client_cached(),
        p_value: interleaved.then(|| signed_rank_p_value(&pairs.log_ratios())),
        q_value: None,
        repetitions_needed: unresolved.and_then(|unresolved| unresolved.repetitions),
        single_run: (pairs.pairing == Pairing::SingleRun).then(|| SingleRun::new(&log, pairs, options)),
    })
}

/// The verdict on a log ratio whose interval includes `clock`, and what leaves it open. `work` is the log ratio of all work over
/// all time where stalls decide.
pub(crate) fn judged(
    log: &Estimate,
    work: Option<&Estimate>,
    clock: f64,
    tolerance: f64,
) -> (RatioVerdict, Option<Unresolved>) {
    let verdict = RatioVerdict::new(log, tolerance);
    if work.is_some_and(|work| !verdict.holds_for_all_work(work, tolerance)) {
        let stalls = Unresolved { obstacle: Obstacle::Stalls, repetitions: None };
        return (RatioVerdict::NotResolved, Some(stalls));
    }
    (verdict, Unresolved::new(log, clock, verdict, tolerance))
}

/// True if the ratio of all work differs from the typical one by more than noise explains: one of them lies outside the
/// other's interval.
fn differ_beyond_chance(typical: &Estimate, total: &Estimate) -> bool {
    let excludes = |one: &Estimate, other: &Estimate| {
        one.interval.is_none_or(|interval| !interval.contains(other.value))
    };
    (total.value - typical.value).abs() > STALL_GAP.ln_1p()
        && (excludes(typical, total) || excludes(total, typical))
}

/// The log ratio by the strongest method that the evidence allows.
pub(crate) fn log_ratio(pairs: &Pairs, level: f64) -> Option<Estimate> {
    match pairs.pairing {
        Pairing::Interleaved => hodges_lehmann(&pairs.log_ratios(), level),
        _ => separate_log_ratio(&pairs.rates_a, &pairs.rates_b, level),
    }
}

/// Largest number of repetitions that is worth a recommendation.
pub const MAX_USEFUL_REPETITIONS: usize = 500;

/// What would settle a ratio that is not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unresolved {
    pub obstacle: Obstacle,
    /// Repetitions that would probably resolve it; none if the clock prevents it, or the value lies on the edge itself.
    pub repetitions: Option<usize>,
}

impl Unresolved {
    /// Of a log ratio whose interval includes `clock`, the allowance of the clocks, which no repetition narrows; none
    /// if it is resolved.
    pub(crate) fn new(log: &Estimate, clock: f64, verdict: RatioVerdict, tolerance: f64) -> Option<Self> {
        if verdict != RatioVerdict::NotResolved {
            return None;
        }
        let Some(interval) = log.interval else {
            let repetitions = Some(sharebench_stats::SMALLEST_SAMPLE_95.max(log.n + 1));
            return Some(Self { obstacle: Obstacle::Repetitions, repetitions });
        };
        let edge = tolerance.ln_1p();
        let half_width = interval.half_width() - clock;
        // Of an estimate less certain than the tolerance it is not known that it lies at the edge.
        let least = if half_width + clock > edge { edge / 2.0 } else { 0.0 };
        let distance = (log.value.abs() - edge).abs().max(least);
        let repetitions = repetitions_needed(log.n, half_width, distance - clock);
        let scatter = half_width * (log.n as f64 / MAX_USEFUL_REPETITIONS as f64).sqrt();
        let obstacle = match repetitions {
            Some(n) if n <= MAX_USEFUL_REPETITIONS => Obstacle::Repetitions,
            _ if scatter.max(clock) <= edge / 2.0 => Obstacle::Edge,
            _ if clock >= scatter => Obstacle::Clock,
            _ => Obstacle::Noise,
        };
        Some(Self { obstacle, repetitions })
    }
}

#[cfg(test)]
mod tests {
    use sharebench_stats::Interval;

    use super::*;

    /// Of a ratio with this interval after `n` repetitions.
    fn unresolved(ratio: f64, low: f64, high: f64, n: usize, clock: f64) -> (Obstacle, Option<usize>) {
        let interval = Some(Interval::new(low.ln(), high.ln()));
        let log = Estimate { value: ratio.ln(), interval, n };
        let found = Unresolved::new(&log, clock, RatioVerdict::new(&log, 0.02), 0.02).unwrap();
        (found.obstacle, found.repetitions)
    }

    #[test]
    fn a_wide_interval_is_noise_and_not_the_edge_of_the_tolerance() {
        assert_eq!(unresolved(1.13, 0.28, 12.55, 6, 0.0), (Obstacle::Noise, Some(2068)));
        assert_eq!(unresolved(1.13, 0.95, 1.34, 6, 0.0), (Obstacle::Repetitions, Some(17)));
        // An estimate of 1.019 that is good to 4 % is not known to lie at the edge.
        assert_eq!(unresolved(1.019, 0.981, 1.060, 6, 0.0), (Obstacle::Repetitions, Some(92)));
    }

    #[test]
    fn only_a_narrow_interval_around_the_edge_lies_at_the_edge() {
        assert_eq!(unresolved(1.0201, 1.012, 1.028, 30, 0.0).0, Obstacle::Edge);
        assert_eq!(unresolved(0.9803, 0.971, 0.989, 30, 0.0).0, Obstacle::Edge);
    }

    #[test]
    fn repetitions_do_not_narrow_what_the_clock_leaves_open() {
        assert_eq!(unresolved(1.10, 0.88, 1.37, 10, 0.2), (Obstacle::Clock, None));
        assert_eq!(unresolved(1.10, 0.99, 1.22, 10, 0.05), (Obstacle::Repetitions, Some(46)));
    }
}
