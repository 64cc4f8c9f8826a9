//! The lognormal distribution by its median and 95th percentile.

use sharebench_model::Random;

/// The 95 % quantile of the standard normal distribution.
const NORMAL_P95: f64 = 1.644_853_626_951_472_7;

/// A number of the lognormal distribution with that median and that 95th percentile.
pub(crate) fn lognormal(median: f64, p95: f64, random: &mut Random) -> f64 {
    let sigma = libm::log(p95 / median) / NORMAL_P95;
    median * libm::exp(sigma * random.normal())
}

/// The mean of the lognormal distribution with that median and that 95th percentile.
pub(crate) fn lognormal_mean(median: f64, p95: f64) -> f64 {
    let sigma = libm::log(p95 / median) / NORMAL_P95;
    median * libm::exp(sigma * sigma / 2.0)
}
