//! The ratio of two systems at one position, and the three words it may be called by.

use serde::{Deserialize, Serialize};
use sharebench_model::StepResult;
use sharebench_stats::{
    Estimate, Interval, Work, clock_allowance, hodges_lehmann, repetitions_needed, separate_log_ratio,
    signed_rank_p_value, total_work_log_ratio,
};

use crate::Options;
use crate::pairing::Pairs;

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
        clock_allowance(self.clock_ns, self.shortest_ns.0, self.shortest_ns.1)
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
