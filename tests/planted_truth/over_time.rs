//! Compares what an analysis claims of a server that changes over time with what was planted.

use sharebench_analysis::{ComparisonOutcome, RatioVerdict, TimeFinding, TimeFindingKind};
use sharebench_model::StepResult;

use crate::judge::{Judged, agrees, comparison};
use crate::measured::Measured;
use crate::properties::mean;
use crate::time_courses::PlantedPattern;

/// The server that changes.
const CHANGING: usize = 1;
/// Allowed differences: of starts in seconds in addition to their stated error, of lengths in seconds, and of periods and costs as
/// shares.
const START: f64 = 0.5;
const LENGTH: f64 = 0.5;
const PERIOD: f64 = 0.05;
const COST: f64 = 0.25;

/// What the requests of the changing server took, from the stored steps and the usual service time.
struct Taken {
    /// Share of its measured time beyond what its requests take at the usual speed.
    lost: f64,
    /// Seconds of all its steps, within and outside their windows.
    total_s: f64,
    /// Second of the run at which the first step starts whose requests take 1.5 times as long.
    slow_from_s: Option<f64>,
}

impl Taken {
    fn from_measured(measured: &Measured) -> Self {
        let steps = measured.steps.iter().filter(|step| step.target as usize == CHANGING);
        let usual_ns = |step: &StepResult| step.measure.operations as f64 * mean() * 1e3;
        let taken_ns: f64 = steps.clone().map(|step| step.measure.busy_ns as f64).sum();
        let lost = 1.0 - steps.clone().map(usual_ns).sum::<f64>() / taken_ns;
        let step_s =
            |step: &StepResult| step.measure.busy_ns as f64 / 1e9 + f64::from(step.unmeasured_ms) / 1e3;
        let total_s = steps.clone().map(step_s).sum();
        let mut slow = steps.filter(|step| step.measure.busy_ns as f64 > 1.5 * usual_ns(step));
        Self { lost, total_s, slow_from_s: slow.next().map(|step| step.started_unix_ms as f64 / 1e3) }
    }
}

/// Judges the findings over time, and the verdict on the same run.
pub fn over_time(measured: &Measured, planted: &PlantedPattern, judged: &mut Judged) {
    let taken = Taken::from_measured(measured);
    let lost = taken.lost;
    let analysis = &measured.analysis;
    let mut is_answered = false;
    for finding in &analysis.time.findings {
        let describe = || format!("{} (the server lost {:.1} %)", finding.text, 100.0 * lost);
        if finding.system == CHANGING && finding.kind == planted.kind && !is_answered {
            is_answered = true;
            judged.answer(Some(agrees_with_pattern(finding, planted, &taken)), describe);
        } else {
            // Steps that no result includes are no claim about the server.
            judged.finding(finding.kind == TimeFindingKind::LeftOut, describe);
        }
    }
    if !is_answered {
        judged.answer(None, String::new);
    }
    let verdict = &comparison(analysis).verdict;
    let claim = match verdict.outcome {
        ComparisonOutcome::Faster => RatioVerdict::Faster,
        ComparisonOutcome::Slower => RatioVerdict::Slower,
        ComparisonOutcome::Equal => RatioVerdict::AboutTheSame,
        ComparisonOutcome::Inconclusive => return,
        // It is no map: all cells change alike.
        ComparisonOutcome::Depends => return judged.finding(false, || verdict.text.clone()),
    };
    let typical_and_total = [0.0, (1.0 - lost).ln()];
    let is_right =
        typical_and_total.iter().any(|ratio| agrees(claim, *ratio, analysis.tolerance) == Some(true));
    judged.finding(is_right, || verdict.text.clone());
}

fn is_within_share(found: f64, planted: f64, share: f64) -> bool {
    (found - planted).abs() <= share * planted
}

/// Whether a finding has what was planted.
fn agrees_with_pattern(finding: &TimeFinding, planted: &PlantedPattern, taken: &Taken) -> bool {
    let period = match (finding.period_s, planted.period_s) {
        (Some(found), Some(planted)) => is_within_share(found, planted, PERIOD),
        (found, planted) => found.is_none() && planted.is_none(),
    };
    let starts_at = |start: f64| (finding.start_s - start).abs() <= START + finding.start_error_s;
    let start = planted.start_s.is_none_or(starts_at);
    // The burst counts the bytes of preparation too, which no step stores: the finding has to say what it counts.
    let bytes = planted.start_bytes.is_none_or(|bytes| {
        finding.start_bytes <= bytes
            && finding.text.contains(" of measured reads and writes")
            && taken.slow_from_s.is_some_and(starts_at)
    });
    let length = match planted.length_s {
        Some(length) => (finding.length_s - length).abs() <= LENGTH,
        None => finding.is_open,
    };
    // What no window includes is no loss of measured time.
    let unmeasured = planted.length_s.filter(|_| finding.is_unmeasured);
    let cost = unmeasured.map_or(taken.lost, |length| length / taken.total_s);
    period && start && bytes && length && is_within_share(finding.cost.value, cost, COST)
}
