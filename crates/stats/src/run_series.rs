//! Changes of level in series of runs of which the precision within each run is known, and what such series could have
//! shown.
//!
//! [`level_shifts`] shuffles the runs: with seven of them before a change and one after it no shuffle is unlikely enough.
//! The last run alone is therefore compared with a prediction from the runs before it (Student's t with the scatter
//! between runs, which includes that within them; Hahn, Meeker: Statistical Intervals, 4.8). A gradual change has a test of
//! its own. The three share the error: eight tenths for shuffles, one tenth each for the last run and for trends.

use sharebench_model::Random;

use crate::level_shifts::{LevelShift, level_shifts};
use crate::normal::normal_quantile;
use crate::order_statistic::median;
use crate::student::student_quantile;
use crate::trend::{Trend, trend};
use crate::{Estimate, Interval};

/// Shares of the error that the test of the last run and the test for trends have.
const LAST_RUN: f64 = 0.1;
const TREND: f64 = 0.1;
/// Fewest runs before the last one from which it can be predicted.
const FEWEST_BEFORE: usize = 5;
/// The last run must be further away than this many times the largest deviation of the runs before it, so that a scatter
/// that is not normal raises no alarm.
const BEYOND: f64 = 2.0;
/// Simulated series per question, and how many of them must show a change.
const DRAWS: u64 = 20;
const FOUND: u64 = 16;
/// Most further runs that are tried.
const MAX_FURTHER: usize = 40;
/// Falls, as shares, that are tried in turn.
const FALLS: [f64; 9] = [0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20, 0.30, 0.50];

/// One value per run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeries {
    /// Logarithms of rates, in the order of the runs.
    pub values: Vec<f64>,
    /// Standard error of each value by the repetitions within its run; none of a run without repetitions.
    pub errors: Vec<Option<f64>>,
}

impl RunSeries {
    /// The runs `from..to` of it.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> Self {
        Self { values: self.values[from..to].to_vec(), errors: self.errors[from..to].to_vec() }
    }

    /// Standard deviation between the runs; none for fewer than two.
    pub fn deviation(&self) -> Option<f64> {
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (self.values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
    }

    /// Typical standard error within a run; 0 if none is known.
    pub(crate) fn within(&self) -> f64 {
        let squares: Vec<f64> = self.errors.iter().flatten().map(|error| error * error).collect();
        if squares.is_empty() { 0.0 } else { (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() }
    }

    /// Standard deviation of a run, from the differences of neighbouring runs, which a change of level leaves alone.
    fn scatter(&self) -> f64 {
        let mut steps: Vec<f64> = self.values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let between = 1.4826 * median(&mut steps).unwrap_or(0.0) / std::f64::consts::SQRT_2;
        between.max(self.within())
    }
}

/// The changes of level in `series`, as [`level_shifts`], and a last run that is beyond all before it.
pub fn run_series_shifts(series: &[RunSeries], error: f64, seed: u64) -> Vec<LevelShift> {
    let values: Vec<Vec<f64>> = series.iter().map(|one| one.values.clone()).collect();
    let mut found = level_shifts(&values, error * (1.0 - LAST_RUN - TREND), seed);
    let begin = found.last().map_or(0, |shift| shift.at);
    let each = error * LAST_RUN / series.len().max(1) as f64;
    // Without repetitions in the last run nothing is known of its precision.
    let is_repeated = |one: &RunSeries| one.errors.last().is_some_and(Option::is_some);
    let shifts: Vec<(usize, f64)> = series
        .iter()
        .enumerate()
        .filter(|(_, one)| is_repeated(one))
        .filter_map(|(index, one)| Some((index, last_run_p_value(one, begin)?)))
        .filter(|(_, p_value)| *p_value <= each)
        .collect();
    if let Some(least) = shifts.iter().map(|(_, p_value)| *p_value).reduce(f64::min) {
        found.push(LevelShift {
            at: series[shifts[0].0].values.len() - 1,
            p_value: (least * series.len() as f64).min(1.0),
            series: shifts.into_iter().map(|(index, _)| index).collect(),
        });
    }
    found
}

/// The gradual changes of `series`, with the index of each; the interval of their size is at `level`. A series of which
/// `shifts` divide the runs into levels has a trend only if a line describes it better than these levels do.
pub fn run_series_trends(
    series: &[RunSeries],
    shifts: &[LevelShift],
    error: f64,
    level: f64,
) -> Vec<(usize, Trend)> {
    let each = error * TREND / series.len().max(1) as f64;
    let of = |(index, one): (usize, &RunSeries)| {
        let own = shifts.iter().filter(|shift| shift.series.contains(&index)).map(|shift| shift.at);
        Some((index, trend(&one.values, &own.collect::<Vec<usize>>(), each, level)?))
    };
    series.iter().enumerate().filter_map(of).collect()
}

/// The series of which the last run alone is beyond all runs before it, without being a change of level in `shifts`; one of
/// them is by chance in at most `error` of cases.
pub fn last_runs_alone(series: &[RunSeries], shifts: &[LevelShift], error: f64) -> Vec<usize> {
    let each = error / series.len().max(1) as f64;
    let is_alone = |(index, one): &(usize, &RunSeries)| {
        let last = one.values.len().saturating_sub(1);
        let begin = shifts.iter().filter(|shift| shift.series.contains(index)).map(|shift| shift.at).max();
        begin != Some(last)
            && last_run_p_value(one, begin.unwrap_or(0)).is_some_and(|p_value| p_value <= each)
    };
    series.iter().enumerate().filter(is_alone).map(|(index, _)| index).collect()
}

/// How many further runs like the last one it takes until the level has changed with it; none if there are too many.
pub fn further_runs_like_the_last(series: &[RunSeries], error: f64, seed: u64) -> Option<usize> {
    let last = series.first()?.values.len().checked_sub(1)?;
    (1..=MAX_FURTHER).find(|further| {
        let longer = |one: &RunSeries| {
            let mut longer = one.clone();
            longer.values.extend(one.values.last().into_iter().cycle().take(*further));
            longer.errors.extend(one.errors.last().into_iter().cycle().take(*further));
            longer
        };
        let longer: Vec<RunSeries> = series.iter().map(longer).collect();
        run_series_shifts(&longer, error, seed).iter().any(|shift| shift.at == last)
    })
}

/// The last run's log ratio to the runs from `begin` on, with the prediction interval at `level`; none if there are too few
/// runs.
pub fn last_run_shift(series: &RunSeries, begin: usize, level: f64) -> Option<Estimate> {
    let last = LastRun::new(series, begin)?;
    let reach = student_quantile(f64::midpoint(1.0, level), last.degrees_of_freedom) * last.error;
    let interval = Interval::new(last.difference - reach, last.difference + reach);
    Some(Estimate { value: last.difference, interval: Some(interval), n: 1 })
}

/// The last run compared with the mean of the runs before it.
struct LastRun {
    difference: f64,
    error: f64,
    degrees_of_freedom: f64,
    /// Largest deviation of a run before it from their mean.
    widest: f64,
}

impl LastRun {
    fn new(series: &RunSeries, begin: usize) -> Option<Self> {
        let (last, before) = series.values.get(begin..)?.split_last()?;
        // Without repetitions the scatter between runs contains the error within them.
        let within = (*series.errors.last()?).unwrap_or(0.0);
        if before.len() < FEWEST_BEFORE {
            return None;
        }
        let n = before.len() as f64;
        let mean = before.iter().sum::<f64>() / n;
        let variance = before.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Runs that agree by chance are known no better than each of them.
        let variance = variance.max(series.within().powi(2));
        Some(Self {
            difference: last - mean,
            error: (variance * (1.0 + 1.0 / n) + within * within).sqrt(),
            degrees_of_freedom: n - 1.0,
            widest: before.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max),
        })
    }
}

/// Two-sided p-value of the last run; none if it cannot be judged, or is not far enough from every run before it.
fn last_run_p_value(series: &RunSeries, begin: usize) -> Option<f64> {
    let last = LastRun::new(series, begin)?;
    if last.difference.abs() <= BEYOND * last.widest {
        return None;
    }
    let statistic = last.difference.abs() / last.error;
    // The tail of a t variable by bisection of its quantile.
    let mut low = 0.0;
    let mut high = 0.5;
    for _ in 0..60 {
        let tail = f64::midpoint(low, high);
        if student_quantile(1.0 - tail, last.degrees_of_freedom) > statistic {
            low = tail;
        } else {
            high = tail;
        }
    }
    Some(2.0 * high)
}

/// The smallest of some falls (shares such as 0.05, up to one half) that four of five series with this scatter show if
/// it happens in the middle of them, in the series that scatters most; none if they would miss a fall by half.
pub fn detectable_fall(series: &[RunSeries], error: f64, seed: u64) -> Option<f64> {
    let runs = series.iter().map(|one| one.values.len()).min()?;
    let detects = |fall: f64| {
        let mut random = Random::new(seed, 0x5E42);
        let mut draw = || drawn(series, &mut random, |_| (Vec::new(), runs), runs / 2, fall);
        shows(&mut draw, error, seed)
    };
    // The power grows with the fall, so that the largest decides whether to try the others.
    if !detects(FALLS[FALLS.len() - 1]) {
        return None;
    }
    FALLS.into_iter().find(|fall| detects(*fall))
}

/// How many further runs at half of the rate it takes until four of five series show the fall, in the series that
/// scatters most; none if many are too few.
pub fn further_runs_to_detect_half(series: &[RunSeries], error: f64, seed: u64) -> Option<usize> {
    let runs = series.iter().map(|one| one.values.len()).min()?;
    (1..=MAX_FURTHER).find(|further| {
        let mut random = Random::new(seed, 0x5E43);
        let kept = |one: &RunSeries| (one.values[..runs].to_vec(), *further);
        let mut draw = || drawn(series, &mut random, kept, runs, 0.5);
        shows(&mut draw, error, seed)
    })
}

/// Series of known values and drawn ones: `kept` states the values to keep and the number to draw. From run `at` on, the
/// series that scatters most falls.
fn drawn(
    series: &[RunSeries],
    random: &mut Random,
    kept: impl Fn(&RunSeries) -> (Vec<f64>, usize),
    at: usize,
    fall: f64,
) -> (Vec<RunSeries>, usize) {
    let scatters: Vec<f64> = series.iter().map(RunSeries::scatter).collect();
    let widest = (0..scatters.len()).max_by(|x, y| scatters[*x].total_cmp(&scatters[*y])).unwrap_or(0);
    let of = |(index, one): (usize, &RunSeries)| {
        let (mut values, more) = kept(one);
        let middle = median(&mut one.values.clone()).unwrap_or(0.0);
        for _ in 0..more {
            let fallen = index == widest && values.len() >= at;
            let level = middle + if fallen { (-fall).ln_1p() } else { 0.0 };
            values.push(level + scatters[index] * normal_quantile(random.unit().max(1e-12)));
        }
        let errors = vec![one.errors.last().copied().flatten().map(|_| one.within()); values.len()];
        RunSeries { values, errors }
    };
    (series.iter().enumerate().map(of).collect(), widest)
}

fn shows(draw: &mut impl FnMut() -> (Vec<RunSeries>, usize), error: f64, seed: u64) -> bool {
    let mut found = 0;
    for tried in 1..=DRAWS {
        let (series, fallen) = draw();
        let shifts = run_series_shifts(&series, error, seed);
        found += u64::from(shifts.iter().any(|shift| shift.series.contains(&fallen)));
        // No more than the remaining draws can be found.
        if found + DRAWS - tried < FOUND {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(n: usize, scatter: f64, random: &mut Random) -> RunSeries {
        let values = (0..n).map(|_| scatter * normal_quantile(random.unit().max(1e-12))).collect();
        RunSeries { values, errors: vec![Some(scatter / 2.0); n] }
    }

    #[test]
    fn one_last_run_far_below_seven_tight_ones_is_found() {
        let mut random = Random::new(1, 0);
        let mut series = noisy(8, 0.01, &mut random);
        series.values[7] += 0.33f64.ln();
        let found = run_series_shifts(&[noisy(8, 0.01, &mut random), series.clone()], 0.05, 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].at, &found[0].series), (7, &vec![1]));
        let ratio = last_run_shift(&series, 0, 0.95).unwrap().map(f64::exp);
        assert!(
            ratio.interval.unwrap().contains(0.33) && ratio.interval.unwrap().half_width() < 0.02,
            "{ratio:?}"
        );
        let alone = [series];
        let found = run_series_shifts(&alone, 0.05, 1);
        assert_eq!(last_runs_alone(&alone, &found, 0.05), [] as [usize; 0], "it is a change already");
    }

    #[test]
    fn one_last_run_without_repetitions_is_no_change_but_it_differs() {
        let mut random = Random::new(1, 0);
        let mut series = noisy(8, 0.01, &mut random);
        series.errors = vec![None; 8];
        let quiet = [series.clone()];
        assert_eq!(last_runs_alone(&quiet, &[], 0.05), [] as [usize; 0]);
        series.values[7] += 0.33f64.ln();
        let alone = [noisy(8, 0.01, &mut random), series];
        assert_eq!(run_series_shifts(&alone, 0.05, 1), []);
        assert_eq!(last_runs_alone(&alone, &[], 0.05), [1]);
        let ratio = last_run_shift(&alone[1], 0, 0.95).unwrap().map(f64::exp);
        assert!(ratio.interval.unwrap().contains(0.33), "{ratio:?}");
        assert_eq!(
            further_runs_like_the_last(&alone[1..], 0.05, 1),
            Some(2),
            "7 and 3 runs: 1 of 120 divisions"
        );
    }

    #[test]
    fn equal_runs_raise_few_alarms() {
        let mut random = Random::new(2, 0);
        let histories = 400;
        let mut alarms = 0;
        for seed in 0..histories {
            let table: Vec<RunSeries> = (0..4).map(|_| noisy(9, 0.03, &mut random)).collect();
            let shifts = run_series_shifts(&table, 0.05, seed);
            let trends = run_series_trends(&table, &shifts, 0.05, 0.95);
            alarms += usize::from(!shifts.is_empty() || !trends.is_empty());
        }
        println!(
            "equal runs, {histories} histories of 9 runs and 4 tests: {alarms} with a false change or trend"
        );
        // 20 are expected at most; more than 32 in one of 200 such experiments.
        assert!(alarms <= 32, "{alarms}");
    }

    #[test]
    fn six_runs_in_two_levels_are_too_few_for_a_change() {
        // 2 of the 20 divisions into three and three are as extreme.
        let values = vec![0.0, 0.1, 0.03, -0.71, -0.82, -0.77];
        let series = RunSeries { values, errors: vec![Some(0.01); 6] };
        assert_eq!(run_series_shifts(&[series], 0.05, 1), []);
    }

    #[test]
    fn few_runs_detect_nothing_and_many_quiet_ones_little_falls() {
        let mut random = Random::new(3, 0);
        let six = [noisy(6, 0.01, &mut random)];
        assert_eq!(detectable_fall(&six, 0.05, 1), None, "no shuffle of six runs is unlikely enough");
        assert_eq!(further_runs_to_detect_half(&six, 0.05, 1), Some(1));
        let wild = [noisy(6, 0.4, &mut random)];
        let more = further_runs_to_detect_half(&wild, 0.05, 1).unwrap();
        assert!((4..=30).contains(&more), "{more}");
        let many = detectable_fall(&[noisy(20, 0.01, &mut random)], 0.05, 1).unwrap();
        assert!(many <= 0.05, "{many}");
    }
}
