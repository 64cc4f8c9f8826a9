//! Whether the latest runs of a series lie below all runs before them.
//!
//! The latest one to eight runs, each number of them in turn, are compared with the runs before: the difference of the two
//! means, with Student's t. The variance between runs is pooled within both groups and shrunk towards an expected one,
//! which counts as a number of runs (an inverse chi-squared prior: Gelman et al.: Bayesian Data Analysis, 3rd ed., 2.6).
//! Without it two runs would have no scatter, and three runs that agree by chance would make the fourth a fall. The
//! errors within the runs bound the variance from below.
//!
//! Several latest runs find what one run cannot: the standard error of their mean falls with their number, while a change
//! of level stays.

use crate::run_series::RunSeries;
use crate::student::student_quantile;
use crate::{Estimate, Interval};

/// Most latest runs that are taken as one level.
const MAX_RECENT: usize = 8;

/// The scatter between runs that is expected before any is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedScatter {
    /// Standard deviation of the logarithm of a rate.
    pub deviation: f64,
    /// The number of runs as which it counts.
    pub runs: f64,
}

/// The latest runs of a series as one level, compared with the runs before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecentLevel {
    /// Number of latest runs.
    pub runs: usize,
    /// Difference of the logarithms, latest runs less those before; `n` counts the runs before.
    pub difference: Estimate,
    /// Standard deviation between runs, as logarithm.
    pub scatter: f64,
    /// The fall in units of the one that is significant: 1 or more is significant.
    pub significance: f64,
}

/// The latest runs of a series, compared with the runs before them: first the last run alone, then the last two, as long
/// as there are as many runs before. A false fall of any one number of runs has the probability `error`; the intervals are
/// at `level`. Empty for fewer than two runs.
pub fn recent_levels(
    series: &RunSeries,
    expected: ExpectedScatter,
    error: f64,
    level: f64,
) -> Vec<RecentLevel> {
    let most = (series.values.len() / 2).min(MAX_RECENT);
    (1..=most).map(|runs| recent_level(series, runs, expected, error, level)).collect()
}

fn recent_level(
    series: &RunSeries,
    runs: usize,
    expected: ExpectedScatter,
    error: f64,
    level: f64,
) -> RecentLevel {
    let at = series.values.len() - runs;
    let (before, recent) = series.values.split_at(at);
    let degrees_of_freedom = expected.runs + (before.len() + recent.len()) as f64 - 2.0;
    let sum = expected.runs * expected.deviation.powi(2) + squares(before) + squares(recent);
    let variance = (sum / degrees_of_freedom).max(series.within().powi(2));
    // The variance between runs includes that within a usual one; a noisier run is known less well.
    let of_run = |index: usize| variance.max(series.errors[index].unwrap_or(0.0).powi(2));
    let of_mean = |from: usize, to: usize| (from..to).map(of_run).sum::<f64>() / ((to - from) as f64).powi(2);
    let standard_error = (of_mean(0, at) + of_mean(at, series.values.len())).sqrt();
    let difference = mean(recent) - mean(before);
    let reach = student_quantile(f64::midpoint(1.0, level), degrees_of_freedom) * standard_error;
    let critical = student_quantile(1.0 - error, degrees_of_freedom) * standard_error;
    let interval = Some(Interval::new(difference - reach, difference + reach));
    RecentLevel {
        runs,
        difference: Estimate { value: difference, interval, n: before.len() },
        scatter: variance.sqrt(),
        significance: -difference / critical,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal::normal_quantile;

    const EXPECTED: ExpectedScatter = ExpectedScatter { deviation: 0.02, runs: 6.0 };

    fn series(values: Vec<f64>) -> RunSeries {
        let errors = vec![Some(0.001); values.len()];
        RunSeries { values, errors }
    }

    #[test]
    fn two_runs_are_compared_with_the_expected_scatter() {
        let found = recent_levels(&series(vec![0.0, -0.05]), EXPECTED, 0.01, 0.95);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].runs, found[0].difference.n), (1, 1));
        assert!((found[0].scatter - 0.02).abs() < 1e-12 && found[0].significance < 1.0, "{found:?}");
        // Six degrees of freedom: 2.447.
        let half_width = found[0].difference.interval.unwrap().half_width();
        assert!((half_width - 2.447 * 0.02 * 2f64.sqrt()).abs() < 1e-4, "{half_width}");
        assert_eq!(recent_levels(&series(vec![0.0]), EXPECTED, 0.01, 0.95), []);
    }

    #[test]
    fn runs_that_agree_replace_the_expected_scatter() {
        let mut values: Vec<f64> = (0..20).map(|run| 0.001 * f64::from(run % 2)).collect();
        values.push(-0.05);
        let found = recent_levels(&series(values), EXPECTED, 0.001, 0.95);
        assert_eq!(found.len(), 8);
        assert!(found[0].significance > 1.0 && found[0].scatter < 0.011, "{:?}", found[0]);
    }

    #[test]
    fn a_run_with_wide_errors_is_no_fall() {
        let mut noisy = series(vec![0.0, 0.01, 0.0, 0.01, 0.0, -0.12]);
        assert!(recent_levels(&noisy, EXPECTED, 0.01, 0.95)[0].significance > 1.0);
        noisy.errors[5] = Some(0.1);
        assert!(recent_levels(&noisy, EXPECTED, 0.01, 0.95)[0].significance < 1.0);
    }

    #[test]
    fn intervals_of_equal_runs_hold_at_their_level() {
        let mut random = Random::new(5, 0);
        let mut covered = 0;
        for _ in 0..2000 {
            let values = (0..12).map(|_| 0.02 * normal_quantile(random.unit().max(1e-12))).collect();
            let last = recent_levels(&series(values), EXPECTED, 0.01, 0.95)[0];
            covered += usize::from(last.difference.interval.unwrap().contains(0.0));
        }
        println!("interval of the last of 12 equal runs: holds in {covered} of 2000");
        assert!((1880..=1960).contains(&covered), "{covered}");
    }
}
