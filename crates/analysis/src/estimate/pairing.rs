//! Pairing the repetitions of two systems.

use std::collections::BTreeMap;

use sharebench_model::StepResult;
use sharebench_stats::{CellSeries, Estimate, Work, clock_allowance, total_work_log_ratio};

use crate::align::rates::{rate, usable};
use crate::align::turns::took_turns;
use crate::types::{CacheShares, Grade, Options, Outcome, Pairing, RateUnit, ShareRange};

/// Number of the first repetition of runs that were not interleaved.
const NOT_INTERLEAVED_FROM: u32 = 1 << 31;

/// Shares of the client's cache this close make cells of equal bands.
const EQUAL_CACHE_SHARE: f64 = 0.05;

/// Shares of storage this close do, where they are known: probes leave more open.
const EQUAL_STORAGE: f64 = 0.10;

impl Pairs {
    /// True when the client's cache served one side at least.
    pub(crate) fn is_client_cached(&self) -> bool {
        self.cached.0 || self.cached.1
    }

    /// True when the client's cache served about the same share of both sides.
    pub(crate) fn has_equal_cache_share(&self) -> bool {
        // Without a count, or a rate above that of the link, no cache is known.
        let none = ShareRange::exactly(0.0);
        let a = self.client_shares.0.unwrap_or(none);
        let b = self.client_shares.1.unwrap_or(none);
        let apart = (a.high - b.low).max(b.high - a.low);
        apart <= EQUAL_CACHE_SHARE && !self.has_unequal_storage()
    }

    /// True when storage is known to have given one side more of its bytes than the other.
    pub(crate) fn has_unequal_storage(&self) -> bool {
        matches!(self.storage_shares, (Some(a), Some(b)) if (a - b).abs() > EQUAL_STORAGE)
    }

    /// Log ratios by repetition. Runs that did not take turns share no condition with other cells through the number of a
    /// repetition of an interleaved run, so their numbers begin at [`NOT_INTERLEAVED_FROM`].
    pub(crate) fn series(&self) -> CellSeries {
        let numbers: Vec<u32> = match self.pairing {
            Pairing::Interleaved => self.repetitions.clone(),
            _ => (NOT_INTERLEAVED_FROM..).take(self.replicates()).collect(),
        };
        CellSeries(numbers.into_iter().zip(self.log_ratios()).collect())
    }

    /// Rates of both sides by sweep: the repetition where they took turns, the order of measuring elsewhere.
    pub(crate) fn by_sweep(&self) -> BTreeMap<u32, (f64, f64)> {
        let rates = self.rates_a.iter().copied().zip(self.rates_b.iter().copied());
        match self.pairing {
            Pairing::Interleaved => self.repetitions.iter().copied().zip(rates).collect(),
            _ => (0..).zip(rates).collect(),
        }
    }
}

/// The repetitions of two systems at one position, ready to compare.
pub(crate) struct Pairs {
    pub pairing: Pairing,
    /// Repetition of each pair; empty unless interleaved.
    pub repetitions: Vec<u32>,
    pub rates_a: Vec<f64>,
    pub rates_b: Vec<f64>,
    /// Work of each pair; dropped once the ratio of the position is known, because means over cells take rates alone.
    pub work: Vec<(Work, Work)>,
    /// Resolution of either clock; none if an imported result does not state it.
    pub clocks_ns: (Option<f64>, Option<f64>),
    /// Whether the client's cache served either side.
    pub cached: (bool, bool),
    /// Share of the bytes that the client's cache served on either side; none where nothing is known.
    pub client_shares: (Option<ShareRange>, Option<ShareRange>),
    /// Share of the bytes that storage gave on either side; none where it is not known.
    pub storage_shares: (Option<f64>, Option<f64>),
    /// Shortest measured time on either side.
    pub shortest_ns: (f64, f64),
}

/// The pairs of one section: per comparison, then per row.
pub(crate) type SectionPairs = Vec<Vec<Option<Pairs>>>;

/// One system at one position.
pub(crate) struct Side<'a> {
    pub run: usize,
    /// All steps, unusable ones included: they still show the order.
    pub steps: &'a [&'a StepResult],
    /// The usable steps as one outcome: which caches served them.
    pub outcome: Option<&'a Outcome>,
    pub clock_ns: Option<f64>,
}

impl Side<'_> {
    fn is_client_cached(&self) -> bool {
        self.outcome.is_some_and(Outcome::is_client_cached)
    }

    fn client_share(&self) -> Option<ShareRange> {
        self.outcome.and_then(Outcome::client_share)
    }

    /// Share of the bytes that storage gave, if there is evidence from the server.
    fn storage_share(&self) -> Option<f64> {
        let known = |shares: &&CacheShares| shares.server_examined && shares.grade < Grade::C;
        let shares = self.outcome.and_then(|outcome| outcome.cache_shares.as_deref());
        shares.filter(known).map(|shares| shares.storage.middle())
    }
}

/// Pairs by repetition when interleaved, side by side otherwise; none when a side has nothing usable.
pub(crate) fn pair(a: &Side<'_>, b: &Side<'_>, unit: RateUnit) -> Option<Pairs> {
    let good = |side: &Side<'_>| -> BTreeMap<u32, (f64, Work)> {
        let usable = side.steps.iter().filter(|step| usable(step, unit));
        usable.filter_map(|s| Some((s.repetition, (rate(&s.measure, unit)?, work(s))))).collect()
    };
    let mut left = good(a);
    let mut right = good(b);
    let pairing = if a.run == b.run && took_turns(a.steps, b.steps) {
        left.retain(|repetition, _| right.contains_key(repetition));
        right.retain(|repetition, _| left.contains_key(repetition));
        if left.len() > 1 { Pairing::Interleaved } else { Pairing::SingleRun }
    } else if left.len() > 1 && right.len() > 1 {
        Pairing::NotInterleaved
    } else {
        Pairing::SingleRun
    };
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let shortest =
        |side: &BTreeMap<u32, (f64, Work)>| side.values().map(|(_, w)| w.time).fold(f64::INFINITY, f64::min);
    Some(Pairs {
        pairing,
        repetitions: if pairing == Pairing::Interleaved {
            left.keys().copied().collect()
        } else {
            Vec::new()
        },
        work: left.values().zip(right.values()).map(|((_, x), (_, y))| (*x, *y)).collect(),
        clocks_ns: (a.clock_ns, b.clock_ns),
        cached: (a.is_client_cached(), b.is_client_cached()),
        client_shares: (a.client_share(), b.client_share()),
        storage_shares: (a.storage_share(), b.storage_share()),
        shortest_ns: (shortest(&left), shortest(&right)),
        rates_a: left.into_values().map(|(rate, _)| rate).collect(),
        rates_b: right.into_values().map(|(rate, _)| rate).collect(),
    })
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

    pub(crate) fn total_work(&self, options: &Options) -> Option<Estimate> {
        if self.pairing != Pairing::Interleaved {
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
