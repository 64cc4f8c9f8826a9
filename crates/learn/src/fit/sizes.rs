//! Sizes: of files, and of requests.

use std::collections::BTreeMap;

use sharebench_model::Random;
use sharebench_plan::Sizes;

use super::Fit;
use super::distance::ks_distance;

/// Up to this many different sizes are listed as they are.
const MAX_EXACT: usize = 64;
/// A lognormal distribution is preferred to a list of sizes up to this distance.
const CLOSE: f64 = 0.02;
/// A lognormal distribution is fitted to at least this many observations.
const ENOUGH: u64 = 100;
/// Draws that represent a distribution without a list.
const DRAWS: u32 = 20_000;
/// Shares at which a long list of sizes is cut: finer towards the large sizes, because few of them hold most bytes.
const CUTS: [(f64, f64, f64); 3] = [(0.0, 0.95, 0.01), (0.95, 0.99, 0.005), (0.99, 1.0, 0.0025)];

/// A law for sizes, given with the number of times each was seen; none without sizes. Sizes beyond `most` count as `most`.
pub fn fit_sizes(seen: &BTreeMap<u64, u64>, most: u64) -> Option<Fit<Sizes>> {
    let mut cut: BTreeMap<u64, u64> = BTreeMap::new();
    for (size, count) in seen {
        *cut.entry((*size).min(most)).or_default() += count;
    }
    let sample: Vec<(u64, u64)> = cut.into_iter().filter(|(_, count)| *count > 0).collect();
    let n: u64 = sample.iter().map(|(_, count)| *count).sum();
    let (only, _) = sample.first()?;
    if sample.len() == 1 {
        return Some(Fit { law: Sizes::Fixed(*only), n, ks: 0.0 });
    }
    if sample.len() <= MAX_EXACT {
        return Some(fitted(choice(&sample), &sample, n));
    }
    let median = quantile(&sample, n, 0.5);
    let p95 = quantile(&sample, n, 0.95);
    if n >= ENOUGH && median > 0 && *only > 0 && p95.saturating_mul(4) <= most {
        let smooth = fitted(Sizes::Lognormal(median, p95), &sample, n);
        let mean = mean_of(&smooth.law) / mean(&sample);
        if smooth.ks <= CLOSE && (0.95..=1.05).contains(&mean) {
            return Some(smooth);
        }
    }
    Some(fitted(choice(&binned(&sample, n)), &sample, n))
}

/// The mean of a law of sizes, bytes.
pub fn mean_of(law: &Sizes) -> f64 {
    mean(&sample_of(law))
}

/// The law as sizes with weights.
pub fn sample_of(law: &Sizes) -> Vec<(u64, u64)> {
    if let Sizes::Choice(choices) = law {
        let mut sorted: Vec<(u64, u64)> =
            choices.iter().map(|(size, weight)| (*size, u64::from(*weight))).collect();
        sorted.sort_unstable();
        return sorted;
    }
    if let Sizes::Fixed(size) = law {
        return vec![(*size, 1)];
    }
    let mut random = Random::new(0x51_2E, 1);
    let mut drawn: Vec<(u64, u64)> = (0..DRAWS).map(|_| (law.draw(&mut random), 1)).collect();
    drawn.sort_unstable();
    drawn
}

fn fitted(law: Sizes, sample: &[(u64, u64)], n: u64) -> Fit<Sizes> {
    let ks = ks_distance(sample, &sample_of(&law));
    Fit { law, n, ks }
}

fn mean(sample: &[(u64, u64)]) -> f64 {
    let all: f64 = sample.iter().map(|(_, count)| *count as f64).sum();
    let sum: f64 = sample.iter().map(|(size, count)| *size as f64 * *count as f64).sum();
    if all > 0.0 { sum / all } else { 0.0 }
}

fn quantile(sample: &[(u64, u64)], n: u64, p: f64) -> u64 {
    let rank = ((n as f64 * p).ceil() as u64).clamp(1, n.max(1));
    let mut below = 0;
    for (size, count) in sample {
        below += count;
        if below >= rank {
            return *size;
        }
    }
    sample.last().map_or(0, |(size, _)| *size)
}

/// Sizes with weights that fit into those of plans.
fn choice(sample: &[(u64, u64)]) -> Sizes {
    let largest = sample.iter().map(|(_, count)| *count).max().unwrap_or(1);
    let divisor = (largest / 1_000_000).max(1);
    let weight = |count: u64| (count / divisor).clamp(1, u64::from(u32::MAX)) as u32;
    Sizes::Choice(sample.iter().map(|(size, count)| (*size, weight(*count))).collect())
}

/// Neighbouring sizes put together between two cuts, as their mean, which keeps the sum of all.
fn binned(sample: &[(u64, u64)], n: u64) -> Vec<(u64, u64)> {
    let mut cuts = Vec::new();
    for (from, to, step) in CUTS {
        let count = ((to - from) / step).round() as u32;
        cuts.extend((1..=count).map(|index| (n as f64 * (from + step * f64::from(index))).round() as u64));
    }
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let mut sum = 0u128;
    let mut held = 0u64;
    let mut below = 0u64;
    let mut cuts = cuts.into_iter().peekable();
    for (size, count) in sample {
        sum += u128::from(*size) * u128::from(*count);
        held += count;
        below += count;
        let mut is_full = false;
        while cuts.next_if(|cut| *cut <= below).is_some() {
            is_full = true;
        }
        if is_full && held > 0 {
            bins.push(((sum / u128::from(held)) as u64, held));
            (sum, held) = (0, 0);
        }
    }
    if held > 0 {
        bins.push(((sum / u128::from(held)) as u64, held));
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, n: u32) -> BTreeMap<u64, u64> {
        let law: Sizes = text.parse().unwrap();
        let mut random = Random::new(4, 4);
        let mut seen = BTreeMap::new();
        for _ in 0..n {
            *seen.entry(law.draw(&mut random)).or_default() += 1;
        }
        seen
    }

    #[test]
    fn few_sizes_stay_as_they_are() {
        let seen = BTreeMap::from([(4096, 80), (65536, 20)]);
        let fit = fit_sizes(&seen, 1 << 30).unwrap();
        assert_eq!(fit.law.to_string(), "4KiB:80,64KiB:20");
        assert!(fit.ks.abs() < 1e-12 && fit.n == 100);
        assert_eq!(fit_sizes(&BTreeMap::from([(0, 7)]), 1).unwrap().law, Sizes::Fixed(0));
        assert!(fit_sizes(&BTreeMap::new(), 1).is_none());
    }

    #[test]
    fn laws_keep_percentiles_and_mean() {
        for text in ["lognormal(16KiB,256KiB)", "1KiB..64KiB", "lognormal(24KiB,1MiB)"] {
            let seen = drawn(text, 20_000);
            let fit = fit_sizes(&seen, 1 << 40).unwrap();
            assert!(fit.ks < 0.02, "{text}: {} {}", fit.law, fit.ks);
            let sample: Vec<(u64, u64)> = seen.into_iter().collect();
            let found = sample_of(&fit.law);
            let all: u64 = found.iter().map(|(_, weight)| *weight).sum();
            for p in [0.1, 0.5, 0.9, 0.95, 0.99] {
                let ratio = quantile(&found, all, p) as f64 / quantile(&sample, 20_000, p) as f64;
                assert!((0.9..=1.1).contains(&ratio), "{text} p{p}: {ratio}");
            }
            let ratio = mean(&found) / mean(&sample);
            assert!((0.95..=1.05).contains(&ratio), "{text}: mean {ratio}");
        }
    }
}
