//! Chi-squared distribution: quantiles only.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The `x` that a chi-squared variable of `degrees_of_freedom` degrees exceeds with probability 1 - `p`; not a number unless
/// `degrees_of_freedom` is positive and `p` lies within 0..1.
pub fn chi_squared_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    match ChiSquared::new(degrees_of_freedom) {
        Ok(distribution) if (0.0..=1.0).contains(&p) => distribution.inverse_cdf(p),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::chi_squared_quantile;

    #[test]
    fn published_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4.
        for (p, degrees_of_freedom, x) in
            [(0.975, 1.0, 5.024), (0.975, 7.0, 16.013), (0.025, 7.0, 1.690), (0.025, 20.0, 9.591)]
        {
            let found = chi_squared_quantile(p, degrees_of_freedom);
            assert!((found - x).abs() <= 0.000_501, "{p} {degrees_of_freedom}: {found} is not {x}");
        }
    }
}
