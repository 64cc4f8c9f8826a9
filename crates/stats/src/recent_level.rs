//! Whether the latest runs of a series lie below all runs before them.
//!
//! The latest one to five runs, each number of them in turn, are compared with the runs before: the difference of the two
//! weighted means, with Student's t. The variance between runs is pooled within both groups and shrunk towards an expected
//! one, which counts as a number of runs (an inverse chi-squared prior: Gelman et al.: Bayesian Data Analysis, 3rd ed.,
//! 2.6). Without it two runs would have no scatter, and three runs that agree by chance would make the fourth a fall.
//! For the same reason the variance is at least the expected one, and at least that within a usual run.
//!
//! Several latest runs find what one run cannot: the standard error of their mean falls with their number, while a change
//! of level stays. The error of the test therefore lies mostly with them: one bad run is no change of level.

use crate::run_series::RunSeries;
use crate::student::student_quantile;
use crate::{Estimate, Interval};

/// Probability of a false fall for each number of latest runs, from one to five. About 15 of 1,000 simulated series of 20
/// equal runs have one, because the numbers of latest runs share most of their runs (docs/measure/gate.md).
const ERRORS: [f64; 5] = [0.0001, 0.0002, 0.0005, 0.001, 0.006];

/// A run is noisier than usual if its error is beyond this many times that of a usual run. With six repetitions an error
/// is known to a third.
const NOISIER: f64 = 1.5;

/// The weight of the error within one run against that of the expected scatter: the degrees of freedom of six repetitions.
const ERROR_WEIGHT: f64 = 5.0;

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
    /// Standard deviation of a usual run, as logarithm.
    pub scatter: f64,
    /// Standard deviation of the last run, as logarithm: that of a usual run, unless its own error is wider.
    pub last: f64,
    /// The fall in units of the one that is significant: 1 or more is significant.
    pub significance: f64,
}

/// The latest runs of a series, compared with the runs before them: first the last run alone, then the last two, as long
/// as there are about twice as many runs before (at least 1, 3, 5, 7 and 9). `share` is the part of the error of a single series that this one has; the intervals
/// are at `level`. Empty for fewer than two runs.
pub fn recent_levels(
    series: &RunSeries,
    expected: ExpectedScatter,
    share: f64,
    level: f64,
) -> Vec<RecentLevel> {
    let weighed = Weighed::new(series, expected);
    let numbers = ERRORS.iter().enumerate().map(|(index, error)| (index + 1, share * error));
    // Fewer runs before say too little about the level to be worth a share of the error.
    let possible = numbers.take_while(|(runs, _)| 3 * runs <= series.values.len() + 1);
    possible.map(|(runs, error)| weighed.recent_level(runs, error, level)).collect()
}

/// The number of runs at the begin of a series that lie below all runs after them, so that they are no measure of what
/// follows: a first run on a busy machine, or a level that was improved. At least three runs follow.
pub fn outdated_runs(series: &RunSeries, expected: ExpectedScatter) -> usize {
    const FOLLOWING: usize = 3;
    let weighed = Weighed::new(series, expected);
    let most = series.values.len().saturating_sub(FOLLOWING);
    let rise = |runs: usize| {
        let level = weighed.recent_level(series.values.len() - runs, ERRORS[0], 0.95);
        (runs, -level.significance)
    };
    let clearest = (1..=most).map(rise).max_by(|x, y| x.1.total_cmp(&y.1));
    clearest.filter(|(_, rise)| *rise >= 1.0).map_or(0, |(runs, _)| runs)
}

/// True if the error of a run within it is beyond that of a usual one of `others`.
pub fn is_noisier(error: Option<f64>, others: &[Option<f64>]) -> bool {
    error.is_some_and(|error| usual(others).is_some_and(|usual| error > NOISIER * usual))
}

/// The lower median of the errors within runs; none if none is known.
fn usual(errors: &[Option<f64>]) -> Option<f64> {
    let mut known: Vec<f64> = errors.iter().flatten().copied().collect();
    known.sort_unstable_by(f64::total_cmp);
    known.get(known.len().saturating_sub(1) / 2).copied()
}

/// A series with the variance of each run in units of that of a usual run.
struct Weighed<'a> {
    values: &'a [f64],
    /// 1 for a usual run, more for one that is noisier.
    variances: Vec<f64>,
    /// The least variance of a usual run.
    least: f64,
    expected: ExpectedScatter,
}

impl<'a> Weighed<'a> {
    fn new(series: &'a RunSeries, expected: ExpectedScatter) -> Self {
        let errors = usual(&series.errors).map_or(0.0, |_| ERROR_WEIGHT * series.errors.len() as f64);
        let within = usual(&series.errors).unwrap_or(0.0).powi(2);
        let square = expected.deviation.powi(2);
        let shrunk = (expected.runs * square + errors * within) / (expected.runs + errors);
        let least = shrunk.max(square);
        let of_run = |error: &Option<f64>| {
            let square = error.map_or(0.0, |error| error * error);
            if square > NOISIER * NOISIER * least { square / least } else { 1.0 }
        };
        let variances = series.errors.iter().map(of_run).collect();
        Self { values: &series.values, variances, least, expected }
    }

    fn recent_level(&self, runs: usize, error: f64, level: f64) -> RecentLevel {
        let n = self.values.len();
        let before = self.group(0, n - runs);
        let recent = self.group(n - runs, n);
        let degrees_of_freedom = self.expected.runs + n as f64 - 2.0;
        let sum = self.expected.runs * self.expected.deviation.powi(2) + before.squares + recent.squares;
        let variance = (sum / degrees_of_freedom).max(self.least);
        let standard_error = (variance * (1.0 / before.weight + 1.0 / recent.weight)).sqrt();
        let difference = recent.mean - before.mean;
        let reach = student_quantile(f64::midpoint(1.0, level), degrees_of_freedom) * standard_error;
        let critical = student_quantile(1.0 - error, degrees_of_freedom) * standard_error;
        let interval = Some(Interval::new(difference - reach, difference + reach));
        RecentLevel {
            runs,
            difference: Estimate { value: difference, interval, n: n - runs },
            scatter: variance.sqrt(),
            last: (variance * self.variances[n - 1]).sqrt(),
            significance: -difference / critical,
        }
    }

    fn group(&self, from: usize, to: usize) -> Group {
        let runs = || self.values[from..to].iter().zip(&self.variances[from..to]);
        let weight: f64 = runs().map(|(_, variance)| 1.0 / variance).sum();
        let mean = runs().map(|(value, variance)| value / variance).sum::<f64>() / weight;
        let squares = runs().map(|(value, variance)| (value - mean).powi(2) / variance).sum();
        Group { weight, mean, squares }
    }
}

/// Runs that are taken as one level.
struct Group {
    /// Sum of the reciprocal variances.
    weight: f64,
    mean: f64,
    /// Weighted sum of squared deviations from the mean.
    squares: f64,
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal::normal_quantile;

    const EXPECTED: ExpectedScatter = ExpectedScatter { deviation: 0.02, runs: 12.0 };

    fn series(values: Vec<f64>) -> RunSeries {
        let errors = vec![Some(0.001); values.len()];
        RunSeries { values, errors }
    }

    fn drawn(runs: usize, scatter: f64, random: &mut Random) -> Vec<f64> {
        (0..runs).map(|_| scatter * normal_quantile(random.unit().max(1e-12))).collect()
    }

    #[test]
    fn two_runs_are_compared_with_the_expected_scatter() {
        let found = recent_levels(&series(vec![0.0, -0.05]), EXPECTED, 1.0, 0.95);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].runs, found[0].difference.n), (1, 1));
        assert!((found[0].scatter - 0.02).abs() < 1e-12 && found[0].significance < 1.0, "{found:?}");
        // Twelve degrees of freedom: 2.179.
        let half_width = found[0].difference.interval.unwrap().half_width();
        assert!((half_width - 2.179 * 0.02 * 2f64.sqrt()).abs() < 1e-4, "{half_width}");
        assert_eq!(recent_levels(&series(vec![0.0]), EXPECTED, 1.0, 0.95), []);
    }

    #[test]
    fn runs_that_agree_scatter_as_expected_and_wild_ones_as_they_do() {
        let found = recent_levels(&series(vec![0.0; 20]), EXPECTED, 1.0, 0.95);
        assert_eq!(found.len(), 5);
        assert!((found[0].scatter - 0.02).abs() < 1e-12, "{:?}", found[0]);
        let wild = (0..40).map(|run| if run % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!(recent_levels(&series(wild), EXPECTED, 1.0, 0.95)[0].scatter > 0.08);
    }

    #[test]
    fn a_run_with_wide_errors_is_no_fall_and_does_not_hide_the_others() {
        let mut noisy = series(vec![0.0, 0.01, 0.0, 0.01, 0.0, -0.12]);
        assert!(recent_levels(&noisy, EXPECTED, 1.0, 0.95)[0].significance > 1.0);
        noisy.errors[5] = Some(0.1);
        let found = recent_levels(&noisy, EXPECTED, 1.0, 0.95)[0];
        assert!(found.significance < 1.0 && found.last > 0.09 && found.scatter < 0.03, "{found:?}");
        // A noisy run before is no level to compare with.
        let mut first = series(vec![-0.3, 0.0, 0.01, 0.0, -0.2]);
        first.errors[0] = Some(0.2);
        let found = recent_levels(&first, EXPECTED, 1.0, 0.95)[0];
        assert!(found.significance > 1.0 && found.scatter < 0.03, "{found:?}");
    }

    #[test]
    fn runs_that_are_all_as_noisy_count_alike() {
        let mut nights = series(vec![0.0; 10]);
        nights.errors = vec![Some(0.03); 10];
        let found = recent_levels(&nights, EXPECTED, 1.0, 0.95);
        // 50 degrees of freedom at 3 %, and 12 at 2 %.
        assert!(
            (found[0].scatter - 0.0283).abs() < 1e-4 && (found[0].last - 0.0283).abs() < 1e-4,
            "{found:?}"
        );
        assert!(!is_noisier(Some(0.03), &nights.errors) && is_noisier(Some(0.05), &nights.errors));
        assert!(!is_noisier(None, &nights.errors) && !is_noisier(Some(0.03), &[None]));
    }

    #[test]
    fn a_slow_first_run_and_a_level_that_was_improved_are_outdated() {
        let mut values = vec![-0.4, 0.0, 0.01, -0.01];
        assert_eq!(outdated_runs(&series(values.clone()), EXPECTED), 1);
        assert_eq!(outdated_runs(&series(values[..3].to_vec()), EXPECTED), 0, "two runs may be lucky");
        values[0] = 0.02;
        assert_eq!(outdated_runs(&series(values), EXPECTED), 0);
        let improved = [[0.0; 9], [0.15; 9]].concat();
        assert_eq!(outdated_runs(&series(improved), EXPECTED), 9);
        let mut random = Random::new(6, 0);
        let cut = (0..400).filter(|_| outdated_runs(&series(drawn(20, 0.02, &mut random)), EXPECTED) > 0);
        let cut = cut.count();
        println!("20 equal runs: the begin counts as outdated in {cut} of 400 series");
        assert!(cut <= 8, "{cut}");
    }

    #[test]
    fn intervals_of_equal_runs_hold_at_least_at_their_level() {
        let mut random = Random::new(5, 0);
        let mut covered = 0;
        for _ in 0..2000 {
            let last = recent_levels(&series(drawn(12, 0.02, &mut random)), EXPECTED, 1.0, 0.95)[0];
            covered += usize::from(last.difference.interval.unwrap().contains(0.0));
        }
        println!("interval of the last of 12 equal runs: holds in {covered} of 2000");
        assert!((1880..=1970).contains(&covered), "{covered}");
    }
}
