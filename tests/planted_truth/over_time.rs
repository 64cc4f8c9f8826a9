//! Compares what an analysis claims of a server that changes over time with what was planted.

use sharebench_analysis::{ComparisonOutcome, RatioVerdict, TimeFinding, TimeFindingKind};

use crate::judge::{Judged, agrees, comparison};
use crate::measured::Measured;
use crate::time_courses::PlantedPattern;

/// The server that changes.
const CHANGING: usize = 1;
/// Allowed differences: of times in seconds, and of periods, bytes and costs as shares.
const SECONDS: f64 = 0.5;
const PERIOD: f64 = 0.05;
const BYTES: f64 = 0.25;
const COST: f64 = 0.25;

/// Judges the findings over time, and the verdict on the same run.
pub fn over_time(measured: &Measured, planted: &PlantedPattern, judged: &mut Judged) {
    let lost = measured.lost_shares[CHANGING];
    let analysis = &measured.analysis;
    let mut is_answered = false;
    for finding in &analysis.time.findings {
        let describe = || format!("{} (the server lost {:.1} %)", finding.text, 100.0 * lost);
        if finding.system == CHANGING && finding.kind == planted.kind && !is_answered {
            is_answered = true;
            judged.answer(Some(agrees_with_pattern(finding, planted, lost)), describe);
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

/// Whether a finding has what was planted: `lost` is the share of its time that the server lost.
fn agrees_with_pattern(finding: &TimeFinding, planted: &PlantedPattern, lost: f64) -> bool {
    let period = match (finding.period_s, planted.period_s) {
        (Some(found), Some(planted)) => is_within_share(found, planted, PERIOD),
        (found, planted) => found.is_none() && planted.is_none(),
    };
    let start = planted.start_s.is_none_or(|start| (finding.start_s - start).abs() <= SECONDS);
    let bytes = planted.start_bytes.is_none_or(|bytes| is_within_share(finding.start_bytes, bytes, BYTES));
    let length = match planted.length_s {
        Some(length) => (finding.length_s - length).abs() <= SECONDS,
        None => finding.is_open,
    };
    period && start && bytes && length && is_within_share(finding.cost.value, lost, COST)
}
