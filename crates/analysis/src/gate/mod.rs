//! Whether a run is slower than the good runs of its plan before it (docs/measure/gate.md has the rule and its reasons).

mod baseline;
pub(crate) mod calibration;
pub(crate) mod tables;

use sharebench_stats::{Estimate, ExpectedScatter, student_quantile};

use crate::gate::baseline::{first_that_counts, noisy_line};
use crate::gate::tables::Tables;
use crate::series::common_lines;
use crate::text::gate::{
    candidate_words, decision_words, part_finding, replaced_words, slower_line, verdict_words, wide_line,
};
use crate::types::{
    Analysis, Comparison, DifferingPart, GateOptions, GateOutcome, GateVerdict, InconclusiveReason,
    RatioVerdict, RunData,
};

/// A false fall in a part has at most this probability.
const REGION_ERROR: f64 = 0.001;

/// The number of runs as which the expected scatter counts until the runs themselves show theirs.
const EXPECTED_RUNS: f64 = 12.0;

/// Judges the last run by the runs before it, which are those that count, oldest first. `analysis` compares the last one of
/// them with the run that is judged.
pub fn gate(runs: &[RunData], analysis: &Analysis, options: &GateOptions) -> GateVerdict {
    let before = runs.len().saturating_sub(1);
    let invalid = |why: &str| GateVerdict::invalid(options.max_slower, before, why);
    let Ok(found) = common_lines(runs) else {
        return invalid(match before {
            0 => "no step has a rate",
            _ => "no cell has a rate in this run and in every good run",
        });
    };
    if before > 0
        && let Some(why) = refusal(analysis)
    {
        return invalid(why);
    }
    let first = first_that_counts(&found, options);
    if first == before {
        let text = match noisy_line(&found, first, options) {
            Some((line, error)) => candidate_words(before == 0, line, error, options),
            None if before > 0 => replaced_words(before),
            None => "first run: baseline recorded".to_owned(),
        };
        return baseline_recorded(text, options);
    }
    let good = before - first;
    let tables = Tables::new(found, first);
    let lines = tables.judged_lines(options);
    let slow = lines.iter().filter(|line| line.outcome == GateOutcome::Slower).map(slower_line);
    let mut slower: Vec<String> = slow.collect();
    slower.extend(tables.slower_trends(options));
    slower.extend(slower_parts(analysis, Tables::scatter(&lines), good, options));
    let wide = lines.iter().filter(|line| line.outcome == GateOutcome::Inconclusive);
    let wide: Vec<String> = wide.map(|line| wide_line(line, tables.error_within(line), options)).collect();
    let outcome = match (slower.is_empty(), wide.is_empty()) {
        (false, _) => GateOutcome::Slower,
        (true, false) => GateOutcome::Inconclusive,
        (true, true) => GateOutcome::Passed,
    };
    let text = verdict_words(outcome, slower.first().or(wide.first()).map(String::as_str), good, options);
    let decides = match (slower.first(), lines.first()) {
        // A trend or a part decides where no line is slower.
        (Some(finding), Some(line)) if line.outcome != GateOutcome::Slower => finding.clone(),
        (_, line) => {
            line.map_or_else(String::new, |line| decision_words(line, tables.deciding_cell(line, options)))
        }
    };
    slower.extend(wide);
    let max_slower = options.max_slower;
    GateVerdict { outcome, max_slower, good_runs: good, lines, decides, findings: slower, text }
}

/// The verdict on a run that no run before it counts against.
fn baseline_recorded(text: String, options: &GateOptions) -> GateVerdict {
    GateVerdict {
        outcome: GateOutcome::Passed,
        max_slower: options.max_slower,
        good_runs: 0,
        lines: Vec::new(),
        decides: String::new(),
        findings: Vec::new(),
        text,
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

/// The scatter that the limit is made for.
fn expected(options: &GateOptions) -> ExpectedScatter {
    ExpectedScatter { deviation: options.expected_scatter(), runs: EXPECTED_RUNS }
}

/// True if an interval of a log ratio shows a fall, and does not rule out one of the limit.
fn may_reach_the_limit(ratio: &Estimate, options: &GateOptions) -> bool {
    ratio.interval.is_some_and(|interval| interval.low <= options.edge())
}

/// Regions of tests that are slower than in the last good run. Their intervals do not contain the scatter between runs,
/// which is added.
fn slower_parts(analysis: &Analysis, scatter: f64, good: usize, options: &GateOptions) -> Vec<String> {
    let margin = |error: f64| {
        let degrees_of_freedom = EXPECTED_RUNS + good as f64 - 1.0;
        student_quantile(1.0 - error, degrees_of_freedom) * scatter * std::f64::consts::SQRT_2
    };
    let proven = margin(REGION_ERROR);
    let ruled_out = margin(f64::midpoint(1.0, -options.level));
    let is_slower = |part: &&DifferingPart| {
        let Some(interval) = part.typical.interval.map(|interval| interval.map(f64::ln)) else {
            return false;
        };
        let is_fall = part.direction == RatioVerdict::Slower && interval.high + proven < 0.0;
        is_fall && interval.low - ruled_out <= options.edge()
    };
    let of = |comparison: &Comparison| -> Vec<String> {
        let parts = comparison.differences.parts.iter().filter(is_slower);
        parts.map(|part| part_finding(analysis, comparison, part)).collect()
    };
    analysis.comparisons.iter().flat_map(of).collect()
}
