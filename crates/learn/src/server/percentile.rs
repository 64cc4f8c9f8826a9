//! Percentiles of response times with their intervals.

use sharebench_stats::{Batch, dependent_quantile_ranks, effective_sample_size, is_resolved};

/// Parts of the time of the input by which dependence between response times is judged.
const BATCHES: usize = 20;
/// Level of intervals.
const LEVEL: f64 = 0.95;

/// A percentile of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Which, 0 to 1.
    pub p: f64,
    /// The time, ns.
    pub ns: u64,
    /// Its 95 % interval, ns; none where there are too few response times for one.
    pub interval: Option<(u64, u64)>,
}

/// Percentiles of response times, given with their starts, both in ns; none without times. The times of requests that wait
/// for each other are dependent, which widens the intervals.
pub fn percentiles(times: &mut [(u64, u64)], duration: u64, wanted: &[f64]) -> Vec<Percentile> {
    // By response time; the start stays with it for its batch.
    times.sort_unstable_by_key(|(_, time)| *time);
    let n = times.len() as u64;
    let width = (duration / BATCHES as u64).max(1);
    let at = |rank: u64| times.get(rank.clamp(1, n.max(1)) as usize - 1).map(|(_, time)| *time);
    let mut found = Vec::new();
    for p in wanted.iter().copied() {
        let Some(ns) = at((n as f64 * p).ceil() as u64) else { continue };
        let mut batches = [Batch::default(); BATCHES];
        for (start, time) in times.iter() {
            let batch = ((start / width) as usize).min(BATCHES - 1);
            batches[batch].n += 1;
            batches[batch].below += u64::from(*time <= ns);
        }
        let interval = effective_sample_size(&batches)
            .filter(|size| is_resolved(p, *size))
            .and_then(|size| dependent_quantile_ranks(n, p, size, LEVEL))
            .and_then(|ranks| Some((at(ranks.low)?, at(ranks.high)?)));
        found.push(Percentile { p, ns, interval });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_intervals_where_counts_allow() {
        let mut times: Vec<(u64, u64)> = (0..10_000).map(|i| (i * 1000, (i * 7919) % 10_000 + 1)).collect();
        let found = percentiles(&mut times, 10_000_000, &[0.5, 0.99]);
        assert_eq!((found[0].ns, found[1].ns), (5_000, 9_900));
        for percentile in &found {
            let (low, high) = percentile.interval.unwrap();
            assert!(low <= percentile.ns && percentile.ns <= high, "{percentile:?}");
        }
        let few = percentiles(&mut [(0, 5), (1, 9)], 10, &[0.5, 0.99]);
        assert_eq!((few[0].ns, few[0].interval, few[1].ns, few[1].interval), (5, None, 9, None));
        assert_eq!(percentiles(&mut [], 10, &[0.5]), []);
    }
}
