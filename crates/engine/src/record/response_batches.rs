//! Response times in batches of time: the evidence of how much one time depends on the one before.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sharebench_model::{Histogram, ResponseSampleSize};
use sharebench_stats::{Batch, effective_sample_size};

/// Batches kept; when time goes beyond, neighbours are joined and batches are twice as long from then on.
const MAX_BATCHES: usize = 64;
/// Fewest batches that a judgement is based on, however few times there are.
const FEWEST: usize = 8;
/// Batches begin about a millisecond long: 2^20 ns.
const FIRST_SHIFT: u32 = 20;
/// 2^6 buckets per octave: two times in one bucket differ by 1.6 % at most.
const SUB_BITS: u32 = 6;
/// Quantiles that are judged.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// Counts of times in at most [`MAX_BATCHES`] batches of the engine's clock. Batches are cut at multiples of their
/// length, so that those of several threads are the same stretches of time: what the threads do to each
/// other (they share a server) shows as well.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResponseBatches {
    shift: u32,
    first: u64,
    kept: VecDeque<TimeBatch>,
}

impl Default for ResponseBatches {
    fn default() -> Self {
        Self { shift: FIRST_SHIFT, first: 0, kept: VecDeque::new() }
    }
}

/// The times of one batch as counts per bucket, from bucket `low` on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct TimeBatch {
    low: usize,
    counts: Vec<u32>,
}

impl TimeBatch {
    fn add(&mut self, bucket: usize, count: u32) {
        if self.counts.is_empty() {
            self.low = bucket;
        }
        if bucket < self.low {
            let missing = self.low - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.low = bucket;
        }
        let at = bucket - self.low;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].saturating_add(count);
    }

    fn join(&mut self, other: &Self) {
        for (at, &count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(other.low + at, count);
        }
    }

    fn count_up_to(&self, bucket: usize) -> Batch {
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum();
        let end = (bucket + 1).saturating_sub(self.low).min(self.counts.len());
        Batch { n: sum(&self.counts), below: sum(&self.counts[..end]) }
    }
}

/// Buckets of equal relative width above 2^6, of one nanosecond below.
fn bucket(nanos: u64) -> usize {
    let octave = (nanos | 1).ilog2().saturating_sub(SUB_BITS);
    ((u64::from(octave) << SUB_BITS) + (nanos >> octave)) as usize
}

impl ResponseBatches {
    /// Adds a time that ended at `at`, both nanoseconds.
    pub fn record(&mut self, at: u64, nanos: u64) {
        let batch = self.batch(at);
        self.kept[batch].add(bucket(nanos), 1);
    }

    /// Index of the batch that holds `at`, made or made room for where there is none.
    fn batch(&mut self, at: u64) -> usize {
        if self.kept.is_empty() {
            self.first = at >> self.shift;
            self.kept.push_back(TimeBatch::default());
        }
        loop {
            let number = at >> self.shift;
            let last = self.first + self.kept.len() as u64 - 1;
            if number.max(last) - number.min(self.first) >= MAX_BATCHES as u64 {
                self.coarsen();
                continue;
            }
            for _ in number..self.first {
                self.kept.push_front(TimeBatch::default());
            }
            self.first = self.first.min(number);
            for _ in last..number {
                self.kept.push_back(TimeBatch::default());
            }
            return (number - self.first) as usize;
        }
    }

    /// Merges neighbouring batches into batches of twice the length, aligned at multiples of that length.
    fn coarsen(&mut self) {
        let odd = self.first % 2;
        let mut joined: VecDeque<TimeBatch> = VecDeque::with_capacity(MAX_BATCHES);
        for (number, batch) in (odd..).zip(self.kept.drain(..)) {
            if number % 2 == 1
                && let Some(last) = joined.back_mut()
            {
                last.join(&batch);
            } else {
                joined.push_back(batch);
            }
        }
        self.kept = joined;
        self.first /= 2;
        self.shift += 1;
    }

    /// Adds another thread's batches.
    pub fn merge(&mut self, mut other: Self) {
        if self.kept.is_empty() {
            *self = other;
            return;
        }
        while other.shift < self.shift && !other.kept.is_empty() {
            other.coarsen();
        }
        while self.shift < other.shift {
            self.coarsen();
        }
        for (offset, batch) in other.kept.iter().enumerate().filter(|(_, batch)| !batch.counts.is_empty()) {
            // Merging may lengthen our batches, so the start is passed in nanoseconds.
            let at = self.batch((other.first + offset as u64) << other.shift);
            self.kept[at].join(batch);
        }
    }

    /// What the recorded times are worth at the usual quantiles of `times`, which holds the same times.
    pub fn worth(mut self, times: &Histogram) -> Vec<ResponseSampleSize> {
        let n = times.len() as f64;
        // Batches of 2 sqrt(n) observations are long enough for the dependence of a busy queue.
        let wanted = ((n.sqrt() / 2.0) as usize).max(FEWEST);
        while self.held() > wanted {
            self.coarsen();
        }
        let at = |quantile: f64| {
            let threshold = bucket(times.quantile(quantile));
            let batches: Vec<Batch> = self.kept.iter().map(|batch| batch.count_up_to(threshold)).collect();
            effective_sample_size(&batches).map(|worth| ResponseSampleSize {
                quantile,
                n: worth.n,
                degrees_of_freedom: worth.degrees_of_freedom,
            })
        };
        QUANTILES.into_iter().filter_map(at).collect()
    }

    fn held(&self) -> usize {
        self.kept.iter().filter(|batch| !batch.counts.is_empty()).count()
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;
    use sharebench_stats::{EffectiveSampleSize, dependent_quantile_ranks, is_resolved};

    use super::*;

    #[test]
    fn buckets_grow_without_gaps_and_keep_to_their_width() {
        let mut last = 0;
        for nanos in (0..5_000u64).chain((13..63).map(|power| 1 << power)) {
            let found = bucket(nanos);
            assert!(found >= last, "{nanos}");
            assert!(nanos > 5_000 || found <= last + 1, "{nanos}");
            last = found;
        }
        assert_eq!(bucket(1_000_000), bucket(1_007_000));
        assert_ne!(bucket(1_000_000), bucket(1_017_000));
    }

    #[test]
    fn slices_of_several_threads_are_the_same_stretches_of_time() {
        let mut random = Random::new(3, 0);
        let mut whole = ResponseBatches::default();
        let mut parts = [ResponseBatches::default(), ResponseBatches::default()];
        for step in 0..20_000u64 {
            let at = 7_000_000_000 + step * 400_000;
            let nanos = 1_000 + random.below(1_000_000);
            whole.record(at, nanos);
            // The second thread begins late and ends early.
            let part = usize::from(random.below(2) == 1 && (2_000..9_000).contains(&step));
            parts[part].record(at, nanos);
        }
        let [mut merged, late] = parts;
        merged.merge(late);
        assert!(whole.kept.len() <= MAX_BATCHES && whole.kept.len() > MAX_BATCHES / 4);
        let counts = |batches: &ResponseBatches| -> Vec<Batch> {
            batches.kept.iter().map(|batch| batch.count_up_to(bucket(500_000))).collect()
        };
        assert_eq!(counts(&merged), counts(&whole));
        assert_eq!(counts(&whole).iter().map(|batch| batch.n).sum::<u64>(), 20_000);
    }

    /// A queue with one server, as in K15, but recorded as the engine does: by batches of time.
    #[test]
    fn intervals_from_batches_hold_the_truth_in_a_queue() {
        const SEEDS: u64 = 100;
        const SERVICE: f64 = 1e6;
        let mut covered = [0; 2];
        let mut wrong = [0; 2];
        for seed in 0..SEEDS {
            let mut random = Random::new(seed, 15);
            let mut exponential = |mean: f64| -mean * (1.0 - random.unit()).ln();
            let mut arrival = 0.0;
            let mut response = exponential(SERVICE / 0.3);
            let mut batches = ResponseBatches::default();
            let mut times = Histogram::new();
            for _ in 0..10_000 {
                batches.record((arrival + response) as u64, response as u64);
                times.record(response as u64);
                let gap = exponential(SERVICE / 0.7);
                arrival += gap;
                response = (response - gap).max(0.0) + exponential(SERVICE);
            }
            for (index, p) in [0.5f64, 0.95].into_iter().enumerate() {
                let found = batches.clone().worth(&times)[index];
                let worth = EffectiveSampleSize { n: found.n, degrees_of_freedom: found.degrees_of_freedom };
                let truth = -(1.0 - p).ln() * SERVICE / 0.3;
                let at = |rank: u64| times.quantile(rank as f64 / 1e4) as f64;
                let ranks = dependent_quantile_ranks(10_000, p, worth, 0.95);
                let holds = ranks.is_some_and(|r| at(r.low) <= truth && truth <= at(r.high));
                covered[index] += u64::from(holds);
                wrong[index] += u64::from(is_resolved(p, worth) && !holds);
            }
        }
        println!(
            "K15 by batches: p50 covered {} %, p95 {} % (tolerance 88 %); wrong {wrong:?}",
            covered[0], covered[1]
        );
        assert!(covered.iter().all(|n| *n >= 88), "{covered:?}");
    }
}
