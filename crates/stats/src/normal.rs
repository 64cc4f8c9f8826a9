//! The standard normal distribution.

use std::f64::consts::SQRT_2;

use statrs::distribution::{ContinuousCDF, Normal};

/// Probability that a standard normal variable is at most `x`.
///
/// The complementary error function of libm is exact to the last digits; that of statrs is off by 1e-12
/// (docs/design/statistics.md).
pub fn normal_cdf(x: f64) -> f64 {
    libm::erfc(-x / SQRT_2) / 2.0
}

/// The `x` with [`normal_cdf`]`(x) = p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else if p.is_nan() {
        // The library panics outside 0..1.
        p
    } else {
        Normal::standard().inverse_cdf(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.1, and Wichura's AS 241 test values.
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_814),
            (1e-20, -9.262_340_089_798_408),
        ] {
            assert!((normal_quantile(p) - x).abs() < 1e-9, "{p}: {}", normal_quantile(p));
        }
        assert!((normal_cdf(1.96) - 0.975_002_104_851_779_5).abs() < 1e-12);
    }
}
