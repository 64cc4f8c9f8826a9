//! Whether a run is slower than the good runs of its plan before it (docs/gate.md has the rule and its reasons).

use sharebench_stats::{
    Estimate, ExpectedScatter, RecentLevel, RunSeries, recent_levels, run_series_trends, student_quantile,
};

use crate::series::common_lines;
use crate::text::gate::{
    change_words, part_finding, slower_line, trend_finding, verdict_words, wide_interval,
};
use crate::types::{
    Analysis, Comparison, DifferingPart, GateLine, GateOptions, GateOutcome, GateVerdict, InconclusiveReason,
    RatioVerdict, RunData, SeriesLine,
};

/// A false fall in one number of latest runs, over all lines of one run, has at most this probability. The tests count
/// false alarms of ten runs: less than 5 %, because the numbers of latest runs share most of their runs.
const RUN_ERROR: f64 = 0.008;

/// The error of the search for gradual falls; a tenth of it is that of trends.
const TREND_ERROR: f64 = 0.02;

/// The scatter between runs that a limit is made for, as a share of the limit, and the number of runs as which it counts
/// until the runs themselves show their scatter.
const EXPECTED_SHARE: f64 = 0.4;
const EXPECTED_RUNS: f64 = 6.0;

/// Judges the last run by the runs before it, which are the good ones, oldest first. `analysis` compares the last good run
/// with the run that is judged.
pub fn gate(runs: &[RunData], analysis: &Analysis, options: &GateOptions) -> GateVerdict {
    let good = runs.len().saturating_sub(1);
    let invalid = |why: &str| GateVerdict::invalid(options.max_slower, good, why);
    let Ok(found) = common_lines(runs) else {
        return invalid(match good {
            0 => "no step has a rate",
            _ => "no cell has a rate in this run and in every good run",
        });
    };
    if good == 0 {
        return first_run(options);
    }
    if let Some(why) = refusal(analysis) {
        return invalid(why);
    }
    let tables = Tables::new(found, options);
    let (mut lines, scatter) = tables.judged_lines(options);
    lines.sort_by(|x, y| y.outcome.cmp(&x.outcome).then(x.ratio.value.total_cmp(&y.ratio.value)));
    let slow = lines.iter().filter(|line| line.outcome == GateOutcome::Slower).map(slower_line);
    let mut slower: Vec<String> = slow.collect();
    slower.extend(tables.slower_trends(options));
    slower.extend(slower_parts(analysis, scatter, good, options));
    let open = wide_comparisons(analysis, options);
    let outcome = match (slower.is_empty(), open.is_empty()) {
        (false, _) => GateOutcome::Slower,
        (true, false) => GateOutcome::Inconclusive,
        (true, true) => GateOutcome::Passed,
    };
    let first = slower.first().or(open.first());
    let text = verdict_words(outcome, first.map(String::as_str), good, options);
    slower.extend(open);
    GateVerdict { outcome, max_slower: options.max_slower, good_runs: good, lines, findings: slower, text }
}

/// The verdict on a run without a good run before it.
fn first_run(options: &GateOptions) -> GateVerdict {
    GateVerdict {
        outcome: GateOutcome::Passed,
        max_slower: options.max_slower,
        good_runs: 0,
        lines: Vec::new(),
        findings: Vec::new(),
        text: "first run: baseline recorded".to_owned(),
    }
}

/// Why no number of the comparison may be used.
fn refusal(analysis: &Analysis) -> Option<&'static str> {
    let reasons = analysis.comparisons.iter().filter_map(|comparison| comparison.verdict.reason);
    let refusals = reasons.filter_map(|reason| match reason {
        InconclusiveReason::WrongData => Some("a read returned other data than was written"),
        InconclusiveReason::EngineFailed => Some("the engine failed"),
        InconclusiveReason::NoCells => Some("a target has no cell in common with the last good run"),
        _ => None,
    });
    let nothing =
        analysis.comparisons.is_empty().then_some("no target has the name of one in the last good run");
    refusals.chain(nothing).next()
}

/// The lower bound that rules out a fall of the limit.
fn edge(options: &GateOptions) -> f64 {
    (-options.max_slower).ln_1p()
}

/// True if an interval of a log ratio shows a fall, and does not rule out one of the limit.
fn may_reach_the_limit(ratio: &Estimate, options: &GateOptions) -> bool {
    ratio.interval.is_some_and(|interval| interval.low <= edge(options))
}

/// Each test of each target with one value per run, and all of them together.
struct Tables {
    lines: Vec<SeriesLine>,
    series: Vec<RunSeries>,
    /// Of all lines together; none of one line alone.
    all: Option<RunSeries>,
    expected: ExpectedScatter,
}

impl Tables {
    fn new(found: Vec<(SeriesLine, RunSeries)>, options: &GateOptions) -> Self {
        let (lines, series): (Vec<SeriesLine>, Vec<RunSeries>) = found.into_iter().unzip();
        let all = (series.len() > 1).then(|| mean_of(&series));
        let expected = ExpectedScatter { deviation: -EXPECTED_SHARE * edge(options), runs: EXPECTED_RUNS };
        Self { lines, series, all, expected }
    }

    /// The lines with their outcomes, and the largest scatter between runs.
    fn judged_lines(&self, options: &GateOptions) -> (Vec<GateLine>, f64) {
        // All lines together often show what none shows alone, so that they have half of the error.
        let share = if self.all.is_some() { 0.5 } else { 1.0 };
        let each = share * RUN_ERROR / self.lines.len() as f64;
        let one = |(line, series): (&SeriesLine, &RunSeries)| {
            let levels = recent_levels(series, self.expected, each, options.level);
            judged(&line.target, &line.test, &levels, options)
        };
        let mut judged_lines: Vec<GateLine> = self.lines.iter().zip(&self.series).filter_map(one).collect();
        let scatter = judged_lines.iter().map(|line| line.scatter.ln_1p()).fold(0.0, f64::max);
        if let Some(all) = &self.all {
            let levels = recent_levels(all, self.expected, share * RUN_ERROR, options.level);
            judged_lines.extend(judged(GateLine::ALL, "all tests", &levels, options));
        }
        (judged_lines, scatter)
    }

    /// Gradual falls over all runs that may reach the limit.
    fn slower_trends(&self, options: &GateOptions) -> Vec<String> {
        let trends = run_series_trends(&self.series, &[], TREND_ERROR, options.level);
        let falls = trends.into_iter().filter(|(_, trend)| {
            trend.total.interval.is_some_and(|interval| interval.high < 0.0)
                && may_reach_the_limit(&trend.total, options)
        });
        falls.map(|(line, trend)| trend_finding(&self.lines[line], &trend.total.map(f64::exp))).collect()
    }
}

/// The mean of all lines in each run. Repetitions share their conditions, so that the errors of the lines are not taken as
/// independent.
fn mean_of(series: &[RunSeries]) -> RunSeries {
    let lines = series.len() as f64;
    let runs = series[0].values.len();
    let values = (0..runs).map(|run| series.iter().map(|one| one.values[run]).sum::<f64>() / lines);
    let error = |run: usize| {
        let known: Option<Vec<f64>> = series.iter().map(|one| one.errors[run]).collect();
        known.map(|known| known.iter().sum::<f64>() / lines)
    };
    RunSeries { values: values.collect(), errors: (0..runs).map(error).collect() }
}

/// The outcome of one line: of the numbers of latest runs that are slower the clearest one, otherwise the last run alone.
fn judged(target: &str, test: &str, levels: &[RecentLevel], options: &GateOptions) -> Option<GateLine> {
    let is_slower =
        |level: &&RecentLevel| level.significance >= 1.0 && may_reach_the_limit(&level.difference, options);
    let slower = levels.iter().filter(is_slower).max_by(|x, y| x.significance.total_cmp(&y.significance));
    let shown = slower.or(levels.first())?;
    let ratio = shown.difference.map(f64::exp);
    Some(GateLine {
        target: target.to_owned(),
        test: test.to_owned(),
        outcome: if slower.is_some() { GateOutcome::Slower } else { GateOutcome::Passed },
        ratio,
        runs: (ratio.n, shown.runs),
        scatter: shown.scatter.exp_m1(),
        change: change_words(&ratio),
    })
}

/// Parts of tests that are slower than in the last good run. Their intervals do not contain the scatter between runs,
/// which is added.
fn slower_parts(analysis: &Analysis, scatter: f64, good: usize, options: &GateOptions) -> Vec<String> {
    let margin = |error: f64| {
        let degrees_of_freedom = EXPECTED_RUNS + good as f64 - 1.0;
        student_quantile(1.0 - error, degrees_of_freedom) * scatter * std::f64::consts::SQRT_2
    };
    let proven = margin(RUN_ERROR);
    let ruled_out = margin(f64::midpoint(1.0, -options.level));
    let is_slower = |part: &&DifferingPart| {
        let Some(interval) = part.typical.interval.map(|interval| interval.map(f64::ln)) else {
            return false;
        };
        let is_fall = part.direction == RatioVerdict::Slower && interval.high + proven < 0.0;
        is_fall && interval.low - ruled_out <= edge(options)
    };
    let of = |comparison: &Comparison| -> Vec<String> {
        let parts = comparison.differences.parts.iter().filter(is_slower);
        parts.map(|part| part_finding(analysis, comparison, part)).collect()
    };
    analysis.comparisons.iter().flat_map(of).collect()
}

/// Comparisons with the last good run whose interval alone is wider than the limit, so that the run is too noisy to pass.
fn wide_comparisons(analysis: &Analysis, options: &GateOptions) -> Vec<String> {
    let wide = |comparison: &Comparison| {
        let interval = comparison.verdict.ratio?.interval?.map(f64::ln);
        let half_width = interval.half_width();
        (half_width > -edge(options)).then(|| wide_interval(comparison, half_width, options))
    };
    analysis.comparisons.iter().filter_map(wide).collect()
}
