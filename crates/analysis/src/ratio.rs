//! The ratio of two systems at one position, and the three words it may be called by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::{
    Estimate, Interval, Work, clock_allowance, hodges_lehmann, median, repetitions_needed,
    separate_log_ratio, signed_rank_p_value, total_work_log_ratio,
};

use crate::outcome::rate;
use crate::pairing::Pairs;
use crate::{Options, RateUnit, RunData};

/// What may be said of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The whole interval is above the tolerance.
    Faster,
    /// The whole interval is below the tolerance.
    Slower,
    /// The whole interval is within the tolerance.
    AboutTheSame,
    /// Anything else.
    NotResolved,
}

impl Standing {
    /// What a log ratio may be called, with `tolerance` as a share (0.02).
    pub fn of(log_ratio: &Estimate, tolerance: f64) -> Self {
        let edge = tolerance.ln_1p();
        match log_ratio.interval {
            Some(interval) if interval.low > edge => Self::Faster,
            Some(interval) if interval.high < -edge => Self::Slower,
            Some(interval) if interval.lies_within(Interval::new(-edge, edge)) => Self::AboutTheSame,
            _ => Self::NotResolved,
        }
    }

    /// The word itself.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::AboutTheSame => "about the same",
            Self::NotResolved => "not resolved",
        }
    }
}

/// How two systems were brought together, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Paired repetitions of one interleaved run: drift met both.
    Interleaved,
    /// Several repetitions each, but one after the other or in different runs: drift is not excluded.
    NotInterleaved,
    /// One repetition at least on one side: no interval at all.
    SingleRun,
}

impl Evidence {
    /// What a sentence must add; empty for the strongest.
    pub fn caveat(self) -> &'static str {
        match self {
            Self::Interleaved => "",
            Self::NotInterleaved => "not interleaved: what changed between the series is not excluded",
            Self::SingleRun => "single run",
        }
    }
}

/// Two systems at one position: the first's rate over the second's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Hodges-Lehmann of the pairs' ratios, or the ratio of medians when not interleaved.
    pub typical: Estimate,
    /// All work over all time; it differs from the typical ratio when stalls decide.
    pub total_work: Option<Estimate>,
    /// True when the two ratios differ by more than 3 %.
    pub stalls_decide: bool,
    /// What may be said.
    pub standing: Standing,
    /// How the systems were brought together.
    pub evidence: Evidence,
    /// True when the client's cache served one side at least: it compares what users feel, not servers.
    pub client_cached: bool,
    /// Two-sided signed-rank p-value against no difference; interleaved pairs only.
    pub p_value: Option<f64>,
    /// Benjamini-Hochberg adjusted over the comparison's positions; only from 12 pairs on.
    pub q_value: Option<f64>,
    /// Repetitions that would probably resolve it; none when it is resolved or none would.
    pub repetitions_needed: Option<usize>,
    /// What can be said where a side was measured once; none elsewhere.
    pub single_run: Option<SingleRun>,
}

/// A ratio of single measurements against what would blur it. Nothing here speaks of chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SingleRun {
    /// What the clocks leave open, as a share; none where a clock's resolution is not known.
    pub clock_share: Option<f64>,
    /// Three robust standard deviations of results declared to be equal, as a share; none where none are.
    pub equal_share: Option<f64>,
    /// Three robust standard deviations of the side that was repeated, as a share; none where none was, or
    /// less than three times.
    pub spread_share: Option<f64>,
    /// True when the ratio is further from one than each of them, and clock or equal results are known.
    pub resolved: bool,
}

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
        // Spreads are of logs and know no bound, so that a ratio large enough always stands out of them.
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
    let (one, other) = (rates(one), rates(other));
    let both = one.iter().filter_map(|(at, rate)| Some((rate / other.get(at)?).ln()));
    let logs: Vec<f64> = both.collect();
    if logs.len() < 3 { None } else { robust_spread(logs) }
}

/// 1.4826 MAD.
fn robust_spread(mut logs: Vec<f64>) -> Option<f64> {
    logs.sort_unstable_by(f64::total_cmp);
    let middle = median(&logs)?;
    let mut apart: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
    apart.sort_unstable_by(f64::total_cmp);
    Some(1.4826 * median(&apart)?)
}

/// How far typical and total-work ratio may be apart.
const STALL_GAP: f64 = 0.03;

/// Compares two systems at one position; none when one of them has nothing to compare.
pub(crate) fn ratio(pairs: &Pairs, options: &Options) -> Option<Ratio> {
    let log = log_ratio(pairs, options.level)?.widened(pairs.clock_allowance());
    let total = pairs.total_work(options);
    let standing = Standing::of(&log, options.tolerance);
    let interleaved = pairs.evidence == Evidence::Interleaved;
    Some(Ratio {
        typical: log.map(f64::exp),
        stalls_decide: total.is_some_and(|total| (total.value - log.value).abs() > STALL_GAP.ln_1p()),
        total_work: total.map(|total| total.map(f64::exp)),
        standing,
        evidence: pairs.evidence,
        client_cached: pairs.is_cached(),
        p_value: interleaved.then(|| signed_rank_p_value(&pairs.log_ratios())),
        q_value: None,
        repetitions_needed: repetitions(&log, standing, options.tolerance),
        single_run: (pairs.evidence == Evidence::SingleRun).then(|| SingleRun::of(&log, pairs, options)),
    })
}

/// The log ratio by the strongest method that the evidence allows.
pub(crate) fn log_ratio(pairs: &Pairs, level: f64) -> Option<Estimate> {
    match pairs.evidence {
        Evidence::Interleaved => hodges_lehmann(&pairs.log_ratios(), level),
        _ => separate_log_ratio(&pairs.rates_a, &pairs.rates_b, level),
    }
}

/// How many repetitions would bring the interval to one side of the nearer edge of the tolerance.
pub(crate) fn repetitions(log: &Estimate, standing: Standing, tolerance: f64) -> Option<usize> {
    if standing != Standing::NotResolved {
        return None;
    }
    let distance = (log.value.abs() - tolerance.ln_1p()).abs();
    match log.interval {
        Some(interval) => repetitions_needed(log.n, interval.half_width(), distance),
        None => Some(sharebench_stats::SMALLEST_SAMPLE_95.max(log.n + 1)),
    }
}

impl Pairs {
    /// ln(a/b) of each pair.
    pub(crate) fn log_ratios(&self) -> Vec<f64> {
        self.rates_a.iter().zip(&self.rates_b).map(|(a, b)| (a / b).ln()).collect()
    }

    /// q/T of both sides at their shortest.
    pub(crate) fn clock_allowance(&self) -> f64 {
        let share =
            |clock: Option<f64>, time: f64| clock_allowance(clock.unwrap_or(0.0), time, f64::INFINITY);
        share(self.clocks_ns.0, self.shortest_ns.0) + share(self.clocks_ns.1, self.shortest_ns.1)
    }

    fn total_work(&self, options: &Options) -> Option<Estimate> {
        if self.evidence != Evidence::Interleaved {
            return None;
        }
        total_work_log_ratio(&self.work, options.level, options.resamples, options.seed)
    }
}

/// What a step did, for the ratio of sums.
pub(crate) fn work(step: &StepResult) -> Work {
    let measure = &step.measure;
    let amount = match measure.bytes.total() {
        0 => measure.operations,
        bytes => bytes,
    };
    Work { amount: amount as f64, time: measure.base_ns() as f64 }
}
