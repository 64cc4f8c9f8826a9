//! Think times.

use std::time::Duration;

use sharebench_model::Random;
use sharebench_plan::Think;

use super::Fit;
use super::distance::ks_distance;

/// A law with a name is preferred to a list of pauses up to this distance.
const CLOSE: f64 = 0.04;
/// And up to this difference of the means.
const MEAN_WITHIN: f64 = 0.03;
/// Pauses of a list.
const LISTED: usize = 100;
/// Draws that represent a law.
const DRAWS: u32 = 20_000;
/// The 95 % quantile of the standard normal distribution.
const NORMAL_P95: f64 = 1.644_853_626_951_472_7;
/// Longest mean of a plan, ns: pauses beyond it count as this long.
const MAX_PAUSE: u64 = 3_600_000_000_000;

/// A law for pauses in nanoseconds; no pause where there are none. Sorts them.
pub fn fit_think(pauses: &mut [u64]) -> Fit<Think> {
    for pause in pauses.iter_mut() {
        *pause = (*pause).min(MAX_PAUSE);
    }
    pauses.sort_unstable();
    let n = pauses.len() as u64;
    if pauses.last().is_none_or(|longest| *longest == 0) {
        return Fit { law: Think::Constant(Duration::ZERO), n, ks: 0.0 };
    }
    let mean = pauses.iter().map(|pause| *pause as f64).sum::<f64>() / n as f64;
    let median = at(pauses, 0.5) as f64;
    let mut laws = vec![Think::Constant(rounded(mean)), Think::Exponential(rounded(mean))];
    if median > 0.0 && mean > median {
        // The lognormal distribution with this median and this mean.
        let sigma = (2.0 * (mean / median).ln()).sqrt();
        laws.push(Think::Lognormal(rounded(median), rounded(median * (NORMAL_P95 * sigma).exp())));
    }
    let sample: Vec<(u64, u64)> = pauses.iter().map(|pause| (*pause, 1)).collect();
    let mut best: Option<Fit<Think>> = None;
    for law in laws {
        let fit = fitted(law, &sample, n, median as u64);
        let off = fit.law.mean().as_nanos() as f64 / mean - 1.0;
        let is_better = best.as_ref().is_none_or(|best| fit.ks < best.ks);
        if fit.ks <= CLOSE && off.abs() <= MEAN_WITHIN && is_better {
            best = Some(fit);
        }
    }
    best.unwrap_or_else(|| fitted(Think::List(means(pauses)), &sample, n, 0))
}

/// Pauses that are constant but for the clock count as constant: both samples are rounded to 2 % of the median.
fn fitted(law: Think, sample: &[(u64, u64)], n: u64, median: u64) -> Fit<Think> {
    let mut random = Random::new(0x0007_B14B, 1);
    let mut drawn: Vec<(u64, u64)> = match &law {
        Think::Constant(pause) => vec![(pause.as_nanos() as u64, 1)],
        Think::List(list) => list.iter().map(|pause| (pause.as_nanos() as u64, 1)).collect(),
        _ => (0..DRAWS).map(|_| (law.draw(&mut random), 1)).collect(),
    };
    drawn.sort_unstable();
    let grain = if matches!(law, Think::Constant(_)) { (median / 50).max(1) } else { 1 };
    let coarse = |sample: &[(u64, u64)]| -> Vec<(u64, u64)> {
        sample.iter().map(|(pause, weight)| ((pause + grain / 2) / grain, *weight)).collect()
    };
    let ks = ks_distance(&coarse(sample), &coarse(&drawn));
    Fit { law, n, ks }
}

fn at(sorted: &[u64], p: f64) -> u64 {
    let rank = (sorted.len() as f64 * p).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

/// To a microsecond, or to a nanosecond where it is shorter.
fn rounded(nanos: f64) -> Duration {
    let nanos = nanos.round() as u64;
    Duration::from_nanos(if nanos >= 100_000 { (nanos + 500) / 1000 * 1000 } else { nanos })
}

/// The means of equal parts of the sorted pauses: the mean of all of them is that of the pauses.
fn means(sorted: &[u64]) -> Vec<Duration> {
    let parts = LISTED.min(sorted.len());
    (0..parts)
        .filter_map(|part| {
            let slice = sorted.get(part * sorted.len() / parts..(part + 1) * sorted.len() / parts)?;
            let sum: f64 = slice.iter().map(|pause| *pause as f64).sum();
            (!slice.is_empty()).then(|| rounded(sum / slice.len() as f64))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_recognised_and_their_means_kept() {
        for text in ["20ms", "exp 20ms", "lognormal 4s 30s", "burst 10 1ms 5s", "list 1s 2s 50s"] {
            let law: Think = text.parse().unwrap();
            let mut random = Random::new(8, 8);
            let mut pauses: Vec<u64> = (0..5_000).map(|_| law.draw(&mut random)).collect();
            let mean = pauses.iter().sum::<u64>() as f64 / 5_000.0;
            let fit = fit_think(&mut pauses);
            let found = fit.law.mean().as_nanos() as f64;
            assert!((found / mean - 1.0).abs() < 0.04, "{text}: {} {found} {mean}", fit.law);
            assert!(fit.ks <= 0.06, "{text}: {} {}", fit.law, fit.ks);
            let word = |law: &Think| law.to_string().split(' ').count();
            if !text.starts_with("burst") && !text.starts_with("list") {
                assert_eq!(word(&fit.law), word(&law), "{text}: {}", fit.law);
            }
            assert_eq!(fit.law.to_string().parse(), Ok(fit.law));
        }
        assert_eq!(fit_think(&mut []).law, Think::Constant(Duration::ZERO));
        assert_eq!(fit_think(&mut [0, 0]).law, Think::Constant(Duration::ZERO));
    }
}
