//! Percentile bootstrap of statistics of several independent samples.
//!
//! Source: Efron and Tibshirani: An Introduction to the Bootstrap, 13.3.

use sharebench_model::Random;

use crate::Interval;

/// Fewest observations of a sample for resampling.
const MIN_OBSERVATIONS: usize = 6;

/// Intervals at `level` of `N` statistics that are computed together from the same samples, so that parts of a sum are
/// resampled like their sum. Each sample is resampled on its own, `resamples` times. None if a sample has fewer than six
/// observations, except for samples without any, which stay empty.
pub fn bootstrap_intervals<const N: usize>(
    samples: &[&[f64]],
    level: f64,
    resamples: usize,
    seed: u64,
    mut statistics: impl FnMut(&mut [Vec<f64>]) -> [f64; N],
) -> Option<[Interval; N]> {
    if resamples == 0 || samples.iter().any(|sample| (1..MIN_OBSERVATIONS).contains(&sample.len())) {
        return None;
    }
    let mut random = Random::new(seed, 0);
    let mut drawn: Vec<Vec<f64>> = samples.iter().map(|sample| Vec::with_capacity(sample.len())).collect();
    let mut values: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(resamples));
    for _ in 0..resamples {
        for (drawn, sample) in drawn.iter_mut().zip(samples) {
            drawn.clear();
            drawn.extend((0..sample.len()).map(|_| sample[random.below(sample.len() as u64) as usize]));
        }
        for (values, value) in values.iter_mut().zip(statistics(&mut drawn)) {
            values.push(value);
        }
    }
    let tail = (1.0 - level) / 2.0;
    let bound = |values: &[f64], share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Some(values.map(|mut values| {
        values.sort_unstable_by(f64::total_cmp);
        Interval::new(bound(&values, tail), bound(&values, 1.0 - tail))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;

    #[test]
    fn intervals_of_medians_cover_their_truth_as_often_as_stated() {
        let mut random = Random::new(7, 1);
        let mut covered = 0;
        for seed in 0..200 {
            let sample: Vec<f64> = (0..41).map(|_| random.unit()).collect();
            let [interval] = bootstrap_intervals(&[&sample], 0.95, 400, seed, |drawn| {
                [median(&mut drawn[0]).unwrap_or(0.0)]
            })
            .unwrap();
            covered += usize::from(interval.contains(0.5));
        }
        assert!((180..=200).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn few_observations_have_no_interval_and_an_empty_sample_stays_empty() {
        let sum = |drawn: &mut [Vec<f64>]| [drawn.iter().map(Vec::len).sum::<usize>() as f64];
        assert_eq!(bootstrap_intervals(&[&[1.0; 5]], 0.95, 10, 1, sum), None);
        let [interval] = bootstrap_intervals(&[&[1.0; 6], &[]], 0.95, 10, 1, sum).unwrap();
        assert_eq!(interval, Interval::new(6.0, 6.0));
    }
}
