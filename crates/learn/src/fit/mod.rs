//! Distributions that plans can state, fitted to what was observed, each with its distance from it.

mod distance;
mod sizes;
mod think;

pub use distance::ks_distance;
pub use sizes::{fit_sizes, mean_of, sample_of};
pub use think::fit_think;

/// A distribution with its goodness of fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit<T> {
    /// The distribution.
    pub law: T,
    /// Observations that it was fitted to.
    pub n: u64,
    /// Kolmogorov-Smirnov distance between the observations and the distribution, 0 to 1: the largest difference of their
    /// cumulative shares.
    pub ks: f64,
}
