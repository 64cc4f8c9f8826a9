//! Student's t distribution: quantiles only.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::normal_quantile;

/// The `x` that a t variable of `degrees_of_freedom` degrees exceeds with probability 1 - `p`; not a number unless
/// `degrees_of_freedom` is positive and `p` lies within 0..1.
pub fn student_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    // With more, the distribution is normal to six digits, and the library's series does not converge any more.
    if degrees_of_freedom > 1e6 {
        return normal_quantile(p);
    }
    StudentsT::new(0.0, 1.0, degrees_of_freedom).map_or(f64::NAN, |distribution| distribution.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::student_quantile;

    #[test]
    fn the_quantile_of_very_many_degrees_is_the_normal_one() {
        for degrees in [1e7, 1e8, 1e12, 4.6e18, f64::MAX] {
            assert!((student_quantile(0.975, degrees) - 1.959_964).abs() < 1e-5, "{degrees}");
        }
    }

    #[test]
    fn published_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        for (p, degrees_of_freedom, t) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 3.0, 3.182),
            (0.975, 4.0, 2.776),
            (0.975, 9.0, 2.262),
            (0.975, 30.0, 2.042),
            (0.995, 10.0, 3.169),
            (0.95, 49.0, 1.677),
        ] {
            let found = student_quantile(p, degrees_of_freedom);
            assert!((found - t).abs() <= 0.000_501, "{p} {degrees_of_freedom}: {found} is not {t}");
            assert!((student_quantile(1.0 - p, degrees_of_freedom) + found).abs() < 1e-9);
        }
    }
}
