//! Coverage of the intervals of repeated loads, by simulation with fixed seeds.

use std::collections::BTreeMap;

use sharebench_model::Random;
use sharebench_stats::{Estimate, normal_quantile};

use crate::load::figures::repeated_rate;
use crate::load::levels::peak;
use crate::load::log_ratio::{ByRepetition, log_ratio, simultaneous_log_ratios};
use crate::types::Pairing;

/// Simulated loads of each line.
const RUNS: u64 = 2_000;

/// Logarithms of the rates of two servers at four numbers of users; the second reaches a plateau of three equal steps.
const TRUTH: [[f64; 4]; 2] = [[-0.7, 0.0, -0.2, -0.3], [-0.4, 0.2, 0.2, 0.2]];

/// One load: the rate of both servers, by users and repetition.
fn load(repetitions: u32, own: f64, shared: f64, seed: u64) -> [BTreeMap<u64, ByRepetition>; 2] {
    let mut random = Random::new(seed, 0);
    let mut normal = || normal_quantile(random.unit().max(f64::MIN_POSITIVE));
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    for repetition in 0..repetitions {
        let drift = shared * normal();
        for (users, step) in [5, 10, 20, 40].into_iter().zip(0..) {
            for (server, rates) in found.iter_mut().enumerate() {
                let log: f64 = TRUTH[server][step] + drift + own * normal();
                rates.entry(users).or_insert_with(ByRepetition::new).insert(repetition, log.exp());
            }
        }
    }
    found
}

/// Whether each interval of a load contains the truth: rate of a step, ratio at a step, ratios at all steps, capacity of a
/// server with a peak and of one with a plateau, ratio of the capacities.
fn holds([a, b]: &[BTreeMap<u64, ByRepetition>; 2]) -> [bool; 6] {
    let contains = |estimate: Option<Estimate>, truth: f64| {
        estimate.and_then(|estimate| estimate.interval).is_some_and(|interval| interval.contains(truth))
    };
    let values = |rates: &ByRepetition| rates.values().copied().collect::<Vec<f64>>();
    let paired = |a: &ByRepetition, b: &ByRepetition| log_ratio(a, b, Pairing::Interleaved, 0.95);
    let steps: Vec<(&ByRepetition, &ByRepetition)> = a.values().zip(b.values()).collect();
    let together = simultaneous_log_ratios(&steps, Pairing::Interleaved, 0.95);
    let truths = TRUTH[0].iter().zip(TRUTH[1]).map(|(a, b)| a - b);
    let [of_a, of_b] = [a, b].map(|rates| &rates[&peak(rates).unwrap_or_default()]);
    let capacity = |rates: &ByRepetition| repeated_rate(&values(rates), 0.95).map(|rate| rate.map(f64::ln));
    [
        contains(capacity(&b[&40]), TRUTH[1][3]),
        contains(paired(&a[&5], &b[&5]), TRUTH[0][0] - TRUTH[1][0]),
        together.iter().zip(truths).all(|(step, truth)| contains(*step, truth)),
        contains(capacity(of_a), TRUTH[0][1]),
        contains(capacity(of_b), TRUTH[1][1]),
        contains(paired(of_a, of_b), TRUTH[0][1] - TRUTH[1][1]),
    ]
}

#[test]
fn intervals_of_repeated_loads_cover_what_they_promise() {
    let mut outside = Vec::new();
    for (repetitions, own, shared) in [
        (6, 0.03, 0.0),
        (6, 0.03, 0.03),
        (8, 0.03, 0.03),
        (10, 0.03, 0.0),
        (10, 0.03, 0.03),
        (20, 0.03, 0.03),
    ] {
        let mut count = [0u32; 6];
        for seed in 0..RUNS {
            let held = holds(&load(repetitions, own, shared, seed));
            count.iter_mut().zip(held).for_each(|(count, held)| *count += u32::from(held));
        }
        let percent = count.map(|count| f64::from(count) * 100.0 / RUNS as f64);
        let shown: Vec<String> = percent.iter().map(|share| format!("{share:.1}")).collect();
        println!("| {repetitions} | {} % | {} |", shared * 100.0, shown.join(" | "));
        // 93 to 97 %, and two standard deviations of this many runs.
        outside.extend(shown.into_iter().zip(percent).filter(|(_, share)| !(92.0..=98.0).contains(share)));
    }
    assert!(outside.is_empty(), "{outside:?}");
}
