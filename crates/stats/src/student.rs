//! Student's t distribution: quantiles only.

use crate::normal_quantile;

/// The `x` that a t variable of `degrees_of_freedom` degrees exceeds with probability 1 - `p`.
///
/// Exact for one and two degrees; above, Abramowitz & Stegun 26.7.5, whose error is below 0.5 % from three
/// degrees on for the usual 95 and 99 %.
pub fn student_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom < 1.5 {
        return (std::f64::consts::PI * (p - 0.5)).tan();
    }
    if degrees_of_freedom < 2.5 {
        let a = 2.0 * p - 1.0;
        return a * (2.0 / (1.0 - a * a)).sqrt();
    }
    let x = normal_quantile(p);
    let square = x * x;
    let terms = [
        (square + 1.0) / 4.0,
        (square * (5.0 * square + 16.0) + 3.0) / 96.0,
        (square * (square * (3.0 * square + 19.0) + 17.0) - 15.0) / 384.0,
        (square * (square * (square * (79.0 * square + 776.0) + 1482.0) - 1920.0) - 945.0) / 92_160.0,
    ];
    x + terms.iter().rev().fold(0.0, |sum, term| (sum + x * term) / degrees_of_freedom)
}

#[cfg(test)]
mod tests {
    use super::student_quantile;

    #[test]
    fn published_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        for (p, degrees_of_freedom, t, tolerance) in [
            (0.975, 1.0, 12.706, 0.001),
            (0.975, 2.0, 4.303, 0.001),
            (0.975, 3.0, 3.182, 0.015),
            (0.975, 4.0, 2.776, 0.004),
            (0.975, 9.0, 2.262, 0.001),
            (0.975, 30.0, 2.042, 0.001),
            (0.995, 10.0, 3.169, 0.002),
            (0.95, 49.0, 1.677, 0.001),
        ] {
            let found = student_quantile(p, degrees_of_freedom);
            assert!((found - t).abs() <= tolerance, "{p} {degrees_of_freedom}: {found} is not {t}");
            assert!((student_quantile(1.0 - p, degrees_of_freedom) + found).abs() < 1e-9);
        }
    }
}
