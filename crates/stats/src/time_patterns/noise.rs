//! What no shape explains: its variance, and how much larger it is over longer times.

use super::shape::Centred;

/// Blocks of equal time whose means show noise that is correlated over time.
const BLOCKS: [usize; 3] = [8, 16, 32];

/// Variance of a residual of weight 1.
pub(super) fn variance(data: &Centred<'_>, left: &[f64], shapes: usize) -> f64 {
    (data.product(left, left) / data.freedom(shapes)).max(1e-12)
}

/// Degrees of freedom of the noise over long times, which so few blocks show.
const FREEDOM: f64 = 14.0;
/// What a shape takes of the freedom of the blocks.
const TAKEN: usize = 3;

/// The standard normal variable with the same probability as a statistic whose square is `square`.
///
/// Source: D. L. Wallace: Bounds on normal approximations to Student's distributions, Ann. Math. Statist. 30 (1959) 1121.
pub(super) fn standard_normal(square: f64) -> f64 {
    (8.0 * FREEDOM + 1.0) / (8.0 * FREEDOM + 3.0) * (FREEDOM * (square / FREEDOM).ln_1p()).sqrt()
}

/// The factor by which the variance of the mean of a long time exceeds that of independent residuals; at least 1.
pub(super) fn inflation(data: &Centred<'_>, left: &[f64], variance: f64) -> f64 {
    let span = (data.last_s - data.first_s).max(1e-9);
    let of_blocks = |blocks: usize| {
        let mut sums = vec![(0.0, 0.0); blocks];
        for ((sample, value), weight) in data.samples.iter().zip(left).zip(&data.weights) {
            let block = ((sample.start_s - data.first_s) / span * blocks as f64) as usize;
            let (sum, weights) = &mut sums[block.min(blocks - 1)];
            *sum += value * weight;
            *weights += weight;
        }
        // The sum of independent residuals of variance v/w, each times w, has the variance v times the sum of w.
        let shares: Vec<f64> = sums
            .iter()
            .filter(|(_, weights)| *weights > 0.0)
            .map(|(sum, weights)| sum * sum / weights)
            .collect();
        let freedom = shares.len().saturating_sub(TAKEN).max(1) as f64;
        shares.iter().sum::<f64>() / freedom / variance
    };
    BLOCKS.into_iter().map(of_blocks).fold(1.0, f64::max)
}
