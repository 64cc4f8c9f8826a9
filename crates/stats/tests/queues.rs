//! Known answer K15 (docs/measure/measurement-rules.md K15): how often intervals of percentiles cover the true value where requests
//! queue.

use sharebench_model::Random;
use sharebench_stats::{
    Batch, Ranks, dependent_quantile_ranks, effective_sample_size, is_resolved, quantile_ranks,
};

const N: usize = 10_000;
const SEEDS: u64 = 300;

/// Response times of an M/M/1 queue with mean service time 1, from its steady state (Lindley's recursion).
fn queue(load: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed, 15);
    let mut exponential = |mean: f64| -mean * (1.0 - random.unit()).ln();
    let mut response = exponential(1.0 / (1.0 - load));
    let mut times = Vec::with_capacity(N);
    for _ in 0..N {
        times.push(response);
        response = (response - exponential(1.0 / load)).max(0.0) + exponential(1.0);
    }
    times
}

/// Batches of 2 sqrt(n) observations each.
fn batches(times: &[f64], quantile: f64) -> Vec<Batch> {
    let length = (2.0 * (times.len() as f64).sqrt()) as usize;
    let batch = |part: &[f64]| Batch {
        n: part.len() as u64,
        below: part.iter().filter(|time| **time <= quantile).count() as u64,
    };
    times.chunks(length).map(batch).collect()
}

/// Shares of seeds in which..
struct Shares {
    /// the interval of independent observations holds the truth,
    naive: f64,
    /// ours does, whether it is called resolved or not,
    covered: f64,
    /// it is called not resolved,
    unresolved: f64,
    /// it is called resolved and misses the truth.
    wrong: f64,
}

#[expect(clippy::unwrap_used, reason = "enough times for an effective sample size")]
fn shares(load: f64, p: f64) -> Shares {
    // Response times of M/M/1 are exponential with mean 1 / (1 - load).
    let truth = -(1.0 - p).ln() / (1.0 - load);
    let mut naive = 0;
    let mut covered = 0;
    let mut unresolved = 0;
    let mut wrong = 0;
    for seed in 0..SEEDS {
        let times = queue(load, seed);
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |rank: u64| sorted[rank as usize - 1];
        let holds = |ranks: Option<Ranks>| ranks.is_some_and(|r| at(r.low) <= truth && truth <= at(r.high));
        naive += u64::from(holds(quantile_ranks(N as u64, p, 0.95)));
        let worth = effective_sample_size(&batches(&times, at((N as f64 * p) as u64))).unwrap();
        let ranks = dependent_quantile_ranks(N as u64, p, worth, 0.95);
        let resolved = is_resolved(p, worth) && ranks.is_some();
        covered += u64::from(holds(ranks));
        unresolved += u64::from(!resolved);
        wrong += u64::from(resolved && !holds(ranks));
    }
    let share = |n: u64| n as f64 / SEEDS as f64;
    Shares {
        naive: share(naive),
        covered: share(covered),
        unresolved: share(unresolved),
        wrong: share(wrong),
    }
}

#[test]
fn intervals_of_percentiles_cover_the_truth_in_a_queue_or_are_unresolved() {
    for (p, least) in [(0.5, 0.88), (0.95, 0.88), (0.99, 0.80)] {
        let Shares { naive, covered, unresolved, wrong } = shares(0.7, p);
        println!(
            "K15 M/M/1 0.7, p{}: holds or not resolved {:.1} % (tolerance {:.0} %); holds {:.1} %, not resolved {:.1} %, as if independent {:.1} %",
            p * 100.0,
            100.0 - wrong * 100.0,
            least * 100.0,
            covered * 100.0,
            unresolved * 100.0,
            naive * 100.0
        );
        assert!(1.0 - wrong >= least, "p{p}: {wrong}");
        assert!(p > 0.95 || covered >= least && unresolved < 0.05, "p{p}: {covered} {unresolved}");
        assert!(naive < 0.6, "p{p}: {naive}");
    }
}
