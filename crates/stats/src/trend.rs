//! Gradual changes in a series of runs: Kendall's test for a trend, with Theil and Sen's slope.
//!
//! Without a change the runs are exchangeable, so that every order of their values is equally likely. The number of pairs
//! in falling order (inversions) then has a known distribution, whatever the distribution of the values (Mann 1945,
//! Kendall 1970), and the same distribution gives the interval of the slope (Sen 1968). A step from one level to another
//! is a trend to this test as well, so a trend is only reported where a straight line fits better than any step.

use std::cmp::Ordering;

use crate::order_statistic::median;
use crate::{Estimate, Interval};

/// Fewest runs of a trend. Of six, only a strictly monotone order is significant.
const FEWEST: usize = 7;

/// A gradual change of a series from its first to its last run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// Change over all runs: the difference of logarithms along the line, with its interval; `n` counts runs.
    pub total: Estimate,
    /// Probability of an order as extreme if there is no trend, in one series.
    pub p_value: f64,
}

/// The trend of `values` (logarithms of rates, one per run) if it is significant at `error` and a line fits better than
/// any step, and better than the levels between `shifts`; the interval is at `level`. None for fewer than seven runs.
pub(crate) fn trend(values: &[f64], shifts: &[usize], error: f64, level: f64) -> Option<Trend> {
    let n = values.len();
    if n < FEWEST || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let null = inversions(n);
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut falling = 0.0;
    for (later, value) in values.iter().enumerate() {
        for (earlier, before) in values[..later].iter().enumerate() {
            slopes.push((value - before) / (later - earlier) as f64);
            // Equal values are half of a pair in each order.
            falling += match value.total_cmp(before) {
                Ordering::Less => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Greater => 0.0,
            };
        }
    }
    let rising = slopes.len() as f64 - falling;
    let fewer = falling.min(rising).ceil() as usize;
    let p_value = (2.0 * null[..=fewer].iter().sum::<f64>()).min(1.0);
    let slope = median(&mut slopes)?;
    if p_value > error || !is_straight(values, slope, shifts) {
        return None;
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let runs = (n - 1) as f64;
    let interval = below(&null, f64::midpoint(1.0, -level))
        .map(|below| Interval::new(runs * slopes[below], runs * slopes[slopes.len() - 1 - below]));
    Some(Trend { total: Estimate { value: runs * slope, interval, n }, p_value })
}

/// The probability of each number of inversions of `n` values in random order.
fn inversions(n: usize) -> Vec<f64> {
    let mut shares = vec![1.0];
    for size in 2..=n {
        // A further value has 0 to size - 1 larger values before it, each with the same probability.
        let mut next = vec![0.0; shares.len() + size - 1];
        for (count, share) in shares.iter().enumerate() {
            for more in 0..size {
                next[count + more] += share / size as f64;
            }
        }
        shares = next;
    }
    shares
}

/// How many slopes lie outside the interval at either end; none if every slope would have to be inside.
fn below(null: &[f64], tail: f64) -> Option<usize> {
    let mut sum = 0.0;
    let outside = null.iter().take_while(|share| {
        sum += **share;
        sum <= tail
    });
    outside.count().checked_sub(1)
}

/// True if the line describes the values better than the best step, which has a parameter more, and than these levels.
/// Several levels have more parameters than a line, each of which has the price of the Bayesian information criterion.
fn is_straight(values: &[f64], slope: f64, shifts: &[usize]) -> bool {
    let along: Vec<f64> = values.iter().enumerate().map(|(run, value)| value - slope * run as f64).collect();
    let of_line = squares(&along);
    let steps = (1..values.len()).map(|at| squares(&values[..at]) + squares(&values[at..]));
    let mut begin = 0;
    let mut of_levels = 0.0;
    for end in shifts.iter().copied().chain([values.len()]) {
        of_levels += squares(&values[begin..end]);
        begin = end;
    }
    let n = values.len() as f64;
    // A level and a place for each shift, instead of one slope.
    let more = 2.0 * shifts.len() as f64 - 1.0;
    let price = (more * n.ln() / n).exp();
    steps.fold(f64::INFINITY, f64::min) > of_line && (shifts.is_empty() || of_levels * price > of_line)
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal::normal_quantile;

    fn noise(random: &mut Random) -> f64 {
        normal_quantile(random.unit().max(1e-12))
    }

    #[test]
    fn orders_have_the_known_number_of_inversions() {
        let of_four: Vec<f64> = inversions(4).into_iter().map(|share| (share * 24.0).round()).collect();
        assert_eq!(of_four, [1.0, 3.0, 5.0, 6.0, 5.0, 3.0, 1.0]);
        assert!((inversions(30).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        // Kendall's tables: of seven values, up to three inversions have a probability of 0.015 at either end.
        assert_eq!(below(&inversions(7), 0.025), Some(3));
    }

    #[test]
    fn a_steady_fall_is_found_with_its_size() {
        let mut random = Random::new(1, 0);
        let mut found = 0;
        let mut covered = 0;
        for _ in 0..400 {
            let values: Vec<f64> =
                (0..7).map(|run| -0.05 * f64::from(run) + 0.01 * noise(&mut random)).collect();
            if let Some(trend) = trend(&values, &[], 0.005, 0.95) {
                found += 1;
                covered += usize::from(trend.total.interval.is_some_and(|interval| interval.contains(-0.3)));
            }
        }
        println!(
            "a fall of 5 % in each of 7 runs, scatter 1 %: found in {found} of 400, interval holds in {covered}"
        );
        assert!(found >= 390 && covered * 100 >= found * 93, "{found} {covered}");
    }

    #[test]
    fn equal_runs_have_a_trend_as_rarely_as_stated() {
        let mut random = Random::new(2, 0);
        for runs in [7, 9, 15, 30] {
            let draw = |random: &mut Random| (0..runs).map(|_| noise(random)).collect::<Vec<f64>>();
            let alarms = (0..4000).filter(|_| trend(&draw(&mut random), &[], 0.05, 0.95).is_some()).count();
            println!("{runs} equal runs: a trend in {alarms} of 4000");
            assert!(alarms <= 240, "{runs}: {alarms}");
        }
    }

    #[test]
    fn levels_that_fit_better_than_a_line_are_no_trend() {
        let stairs: Vec<f64> =
            (0..18).map(|run| -0.2 * f64::from(run / 6) - 0.001 * f64::from(run % 2)).collect();
        assert!(trend(&stairs, &[], 0.05, 0.95).is_some());
        assert_eq!(trend(&stairs, &[6, 12], 0.05, 0.95), None);
        let slope: Vec<f64> = (0..18).map(|run| -0.03 * f64::from(run)).collect();
        assert!(trend(&slope, &[6, 12], 0.05, 0.95).is_some());
    }

    #[test]
    fn steps_few_runs_and_constants_have_no_trend() {
        let step = [0.03, 0.02, 0.01, 0.0, -0.5, -0.51, -0.52, -0.53];
        assert_eq!(trend(&step, &[], 0.05, 0.95), None);
        let few: Vec<f64> = (0..6).map(|run| -0.1 * f64::from(run)).collect();
        assert_eq!(trend(&few, &[], 0.05, 0.95), None);
        assert_eq!(trend(&[1.0; 12], &[], 0.05, 0.95), None);
        let infinite = [0.0, -1.0, -2.0, -3.0, -4.0, -5.0, f64::NEG_INFINITY];
        assert_eq!(trend(&infinite, &[], 0.05, 0.95), None);
    }
}
