//! Trust lines: one light each for what could make the numbers mean something else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{ErrorClass, RunOutcome, StepResult, Verdict};
use sharebench_stats::median;

use crate::analysis::error_count;
use crate::wording::counted;
use crate::{Analysis, Evidence, RunData};

/// A traffic light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Light {
    /// Nothing against it.
    Green,
    /// Compare with care.
    Amber,
    /// Something is invalid; the text says what.
    Red,
}

/// One reason to believe the numbers, or not to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustLine {
    /// How it stands.
    pub light: Light,
    /// What was looked at, in two or three words.
    pub subject: String,
    /// What was seen, and what it invalidates.
    pub text: String,
}

fn line(light: Light, subject: &str, text: impl Into<String>) -> TrustLine {
    TrustLine { light, subject: subject.to_owned(), text: text.into() }
}

/// All lights, in a fixed order.
pub(crate) fn lines(analysis: &Analysis, runs: &[RunData]) -> Vec<TrustLine> {
    let mut lines: Vec<TrustLine> = runs.iter().map(|run| ending(run, runs.len())).collect();
    let steps: Vec<&StepResult> = runs.iter().flat_map(|run| &run.steps).collect();
    lines.push(self_checks(&steps));
    lines.extend(remarks(&steps));
    lines.push(integrity(&steps));
    lines.push(failures(runs, &steps));
    lines.extend(participation(&steps));
    lines.extend(order(analysis));
    lines.extend(smallest_difference(analysis));
    lines.push(clock(runs, &steps));
    lines
}

fn ending(run: &RunData, runs: usize) -> TrustLine {
    let subject = if runs == 1 { "run".to_owned() } else { format!("run {}", run.label) };
    let done = format!("{} of {} planned steps were measured", run.steps.len(), run.header.steps_planned);
    let (light, text) = match &run.outcome {
        Some(RunOutcome::Complete) => (Light::Green, done),
        Some(RunOutcome::Stopped) => (Light::Amber, format!("stopped by the user: {done}")),
        Some(RunOutcome::TargetLost(reason)) => (Light::Red, format!("a target was lost ({reason}): {done}")),
        Some(RunOutcome::HookFailed(reason)) => (Light::Amber, format!("ended early ({reason}): {done}")),
        Some(RunOutcome::EngineFailed(reason)) => {
            (Light::Red, format!("the engine failed ({reason}): none of these numbers may be used; {done}"))
        }
        None => (Light::Amber, format!("the end of the run was never recorded: {done}")),
    };
    line(light, &subject, text)
}

fn self_checks(steps: &[&StepResult]) -> TrustLine {
    let of = |verdict: Verdict| steps.iter().filter(|step| step.verdict() == verdict).count();
    let (invalid, suspicious) = (of(Verdict::Invalid), of(Verdict::Suspicious));
    let light = match (invalid, suspicious) {
        (0, 0) => Light::Green,
        (0, _) => Light::Amber,
        _ => Light::Red,
    };
    let text = if light == Light::Green {
        format!("all {} held in every check", counted(steps.len(), "step"))
    } else {
        format!(
            "of {}, {invalid} invalid (left out) and {suspicious} suspicious (marked)",
            counted(steps.len(), "step")
        )
    };
    line(light, "self-checks", text)
}

/// One line per check that complained, with an example of its arithmetic.
fn remarks(steps: &[&StepResult]) -> Vec<TrustLine> {
    let mut by_name: BTreeMap<&str, (usize, Verdict, &str)> = BTreeMap::new();
    for check in steps.iter().flat_map(|step| &step.checks).filter(|check| check.verdict != Verdict::Valid) {
        let entry = by_name.entry(&check.name).or_insert((0, check.verdict, &check.detail));
        *entry = (entry.0 + 1, entry.1.max(check.verdict), entry.2);
    }
    let light = |verdict| if verdict == Verdict::Invalid { Light::Red } else { Light::Amber };
    let remark = |(name, (n, verdict, example)): (&str, (usize, Verdict, &str))| {
        line(light(verdict), &format!("check {name}"), format!("{}, such as: {example}", counted(n, "step")))
    };
    by_name.into_iter().map(remark).collect()
}

fn integrity(steps: &[&StepResult]) -> TrustLine {
    let wrong: u64 = steps.iter().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
    let read: u64 = steps.iter().map(|step| step.measure.bytes.read).sum();
    let verified: u64 = steps.iter().map(|step| step.measure.verified).sum();
    if wrong > 0 {
        return line(
            Light::Red,
            "data",
            format!("{wrong} operations returned other bytes than were written"),
        );
    }
    let share = if read == 0 { 1.0 } else { (verified as f64 / read as f64).min(1.0) };
    let light = if share >= 1.0 { Light::Green } else { Light::Amber };
    let text = if read == 0 {
        "nothing was read back".to_owned()
    } else {
        format!("{:.0} % of the bytes read were checked, all right", (share * 100.0).floor())
    };
    line(light, "data", text)
}

fn failures(runs: &[RunData], steps: &[&StepResult]) -> TrustLine {
    let errors: u64 = runs.iter().map(error_count).sum();
    let operations: u64 = steps.iter().map(|step| step.measure.operations).sum();
    if errors == 0 {
        return line(Light::Green, "failures", "no operation failed");
    }
    let mut classes: BTreeMap<ErrorClass, u64> = BTreeMap::new();
    for (class, count) in steps.iter().flat_map(|step| &step.measure.errors) {
        *classes.entry(*class).or_default() += count;
    }
    let named: Vec<String> = classes.iter().map(|(class, count)| format!("{count} {class}")).collect();
    line(
        Light::Amber,
        "failures",
        format!("{errors} of {operations} operations failed: {}", named.join(", ")),
    )
}

fn participation(steps: &[&StepResult]) -> Option<TrustLine> {
    let silent: Vec<&&StepResult> =
        steps.iter().filter(|step| step.measure.motors_reported < step.measure.motors_assigned).collect();
    let many = steps.iter().any(|step| step.measure.motors_assigned > 1);
    if silent.is_empty() {
        return many.then(|| line(Light::Green, "users", "every user reported in every step"));
    }
    let worst =
        silent.iter().min_by_key(|s| s.measure.motors_reported * 100 / s.measure.motors_assigned.max(1))?;
    let (reported, assigned) = (worst.measure.motors_reported, worst.measure.motors_assigned);
    let text = format!(
        "in {} some users never finished ({reported} of {assigned} at worst): response times are those of the survivors",
        counted(silent.len(), "step")
    );
    Some(line(Light::Red, "users", text))
}

fn order(analysis: &Analysis) -> Option<TrustLine> {
    let evidence = analysis.comparisons.iter().flat_map(|c| c.sections.iter().flatten()).map(|s| s.evidence);
    Some(match evidence.max()? {
        Evidence::Interleaved => {
            line(Light::Green, "order", "systems took turns within each repetition: drift met them alike")
        }
        Evidence::NotInterleaved => line(
            Light::Amber,
            "order",
            "some systems were not measured in turns: what changed between the series cannot be told from a difference",
        ),
        Evidence::SingleRun => line(
            Light::Amber,
            "order",
            "some positions were measured once: nothing can be said of chance there",
        ),
    })
}

/// What difference the intervals would have shown, from their median half-width.
fn smallest_difference(analysis: &Analysis) -> Option<TrustLine> {
    let rows = analysis.sections.iter().flat_map(|section| &section.rows);
    let ratios: Vec<_> = rows.flat_map(|row| row.ratios.iter().flatten()).collect();
    if ratios.is_empty() {
        return None;
    }
    let mut widths: Vec<f64> =
        ratios.iter().filter_map(|r| Some(r.typical.interval?.map(f64::ln).half_width())).collect();
    widths.sort_unstable_by(f64::total_cmp);
    let Some(half_width) = median(&widths) else {
        return Some(line(Light::Amber, "sharpness", "fewer than 6 repetitions: no intervals, so no claims"));
    };
    let visible = half_width.exp_m1() + analysis.tolerance;
    let light = if visible <= 0.1 { Light::Green } else { Light::Amber };
    let text =
        format!("a difference of {:.1} % in one cell would typically have been called", visible * 100.0);
    Some(line(light, "sharpness", text))
}

fn clock(runs: &[RunData], steps: &[&StepResult]) -> TrustLine {
    let coarsest = runs.iter().map(RunData::clock_resolution_ns).fold(0.0, f64::max);
    let shortest =
        steps.iter().map(|s| s.measure.base_ns()).filter(|ns| *ns > 0).min().unwrap_or(u64::MAX) as f64;
    let light = if shortest >= 200.0 * coarsest { Light::Green } else { Light::Amber };
    let text = format!(
        "resolution {}, shortest measured time {}",
        sharebench_model::units::show_nanos(coarsest),
        if steps.is_empty() { "none".to_owned() } else { sharebench_model::units::show_nanos(shortest) }
    );
    line(light, "clock", text)
}
