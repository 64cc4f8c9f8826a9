//! Trust lines: one status each for what could invalidate the numbers.

use std::collections::BTreeMap;

use sharebench_model::units::{counted, percent, percent_limit, show_nanos, whole_percent};
use sharebench_model::{ErrorClass, RunOutcome, StepError, StepResult, Verdict};
use sharebench_stats::median;

use crate::align::Aligned;
use crate::align::clocks::Clock;
use crate::estimate::Estimated;
use crate::estimate::precision::cell_widths;
use crate::types::{
    Access, CheckSummary, Comparison, Confidence, Objection, Options, Outcome, Pairing, RunData, ShareRange,
    Status, TrustLine,
};

fn line(status: Status, subject: &str, text: impl Into<String>) -> TrustLine {
    TrustLine { status, subject: subject.to_owned(), text: text.into() }
}

/// All lines, in a fixed order.
pub(crate) fn lines(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    comparisons: &[Comparison],
    checks: &[CheckSummary],
    contradictions: usize,
    options: &Options,
) -> Vec<TrustLine> {
    let runs = aligned.runs;
    let line_of = |run: &RunData| {
        if run.header.is_imported() { origin(run, runs.len()) } else { run_state(run, runs.len()) }
    };
    let mut lines: Vec<TrustLine> = runs.iter().map(line_of).collect();
    let steps: Vec<&StepResult> = runs.iter().flat_map(|run| &run.steps).collect();
    let ours = runs.iter().filter(|run| !run.header.is_imported()).flat_map(|run| &run.steps);
    let ours: Vec<&StepResult> = ours.collect();
    let imported = runs.iter().any(|run| run.header.is_imported());
    // Imported steps have no self-checks, and their data was not verified.
    if !imported || !ours.is_empty() {
        lines.push(self_checks(&ours, checks));
        lines.push(integrity(&ours));
        lines.push(failures(&ours));
    }
    lines.extend(remarks(checks));
    lines.extend(participation(&steps));
    lines.extend(client_caches(aligned, estimated));
    lines.extend(order(comparisons));
    lines.extend(comparisons.iter().filter_map(confidence));
    lines.extend(smallest_difference(estimated, options.tolerance));
    lines.extend(runs.iter().filter_map(precision));
    lines.extend(clock(runs, &aligned.clocks));
    if contradictions > 0 {
        let text = format!(
            "{} below: numbers that contradict each other or their description",
            counted(contradictions, "contradiction")
        );
        lines.push(line(Status::Failed, "contradictions", text));
    }
    lines
}

/// Origin of a run that another program measured.
fn origin(run: &RunData, runs: usize) -> TrustLine {
    let fact = |name: &str| run.header.environment.get(name).map_or("", String::as_str);
    let program = Some(fact("program")).filter(|program| !program.is_empty());
    let subject = if runs == 1 { "origin".to_owned() } else { format!("origin {}", run.label) };
    let text = format!(
        "imported from {} ({}, SHA-256 {:.12}), measured by {}: {}; without self-checks",
        fact("file"),
        counted(fact("file_bytes").parse().unwrap_or(0), "byte"),
        fact("file_sha256"),
        program.unwrap_or("an unknown program"),
        counted(run.steps.len(), "step"),
    );
    line(Status::Warning, &subject, text)
}

fn run_state(run: &RunData, runs: usize) -> TrustLine {
    let subject = if runs == 1 { "run".to_owned() } else { format!("run {}", run.label) };
    let steps = run.steps.len();
    let most = run.header.steps_planned;
    let done = match run.header.repeat {
        None => format!("{steps} of {most} planned steps were measured"),
        Some(rule) => format!(
            "{steps} steps were measured (planned: {} to {most}, depending on precision or a search)",
            rule.steps_least
        ),
    };
    let (status, text) = match &run.outcome {
        Some(RunOutcome::Complete) => (Status::Ok, done),
        Some(RunOutcome::Incomplete(StepError::Stopped)) => {
            (Status::Warning, format!("stopped by the user: {done}"))
        }
        Some(RunOutcome::Incomplete(StepError::TargetLost { reason, .. })) => {
            (Status::Failed, format!("a target was lost ({reason}): {done}"))
        }
        Some(RunOutcome::Incomplete(StepError::PreStepCommandFailed(reason))) => {
            (Status::Warning, format!("ended early ({reason}): {done}"))
        }
        Some(RunOutcome::Incomplete(StepError::EngineFailed(reason))) => (
            Status::Failed,
            format!("the engine failed ({reason}): none of these numbers may be used; {done}"),
        ),
        None => (Status::Warning, format!("the end of the run was never recorded: {done}")),
    };
    line(status, &subject, text)
}

fn self_checks(steps: &[&StepResult], summaries: &[CheckSummary]) -> TrustLine {
    let of = |verdict: Verdict| steps.iter().filter(|step| step.verdict() == verdict).count();
    let invalid = of(Verdict::Invalid);
    let warnings = of(Verdict::Warning);
    let status = match (invalid, warnings) {
        (0, 0) => Status::Ok,
        (0, _) => Status::Warning,
        _ => Status::Failed,
    };
    let text = if status == Status::Ok {
        format!("all {} passed every check", counted(steps.len(), "step"))
    } else {
        format!(
            "of {}, {invalid} invalid (left out) and {warnings} with a warning (marked !)",
            counted(steps.len(), "step")
        )
    };
    let unknown = |summary: &&CheckSummary| summary.verdict() == Verdict::NotKnown;
    let unknown: Vec<&str> = summaries.iter().filter(unknown).map(|summary| summary.name.as_str()).collect();
    let unknown = if unknown.is_empty() {
        String::new()
    } else {
        format!("; could not be checked: {}", unknown.join(", "))
    };
    line(status, "self-checks", text + &unknown)
}

/// One line per check that did not pass; its arithmetic is listed with the self-checks.
fn remarks(summaries: &[CheckSummary]) -> Vec<TrustLine> {
    let failed_checks = summaries.iter().filter(|summary| summary.verdict() > Verdict::Valid);
    let remark = |summary: &CheckSummary| {
        let status = if summary.invalid > 0 { Status::Failed } else { Status::Warning };
        let steps = summary.valid + summary.not_known + summary.warnings + summary.invalid;
        let text =
            format!("not passed in {} of {}", summary.warnings + summary.invalid, counted(steps, "step"));
        line(status, &format!("check {}", summary.name), text)
    };
    failed_checks.map(remark).collect()
}

fn integrity(steps: &[&StepResult]) -> TrustLine {
    let wrong: u64 = steps.iter().filter_map(|step| step.measure.errors.get(&ErrorClass::DataMismatch)).sum();
    let read: u64 = steps.iter().map(|step| step.measure.bytes.read).sum();
    let verified: u64 = steps.iter().map(|step| step.measure.verified).sum();
    if wrong > 0 {
        return line(
            Status::Failed,
            "data",
            format!("{wrong} operations returned data that differs from what was written"),
        );
    }
    let share = if read == 0 { 1.0 } else { (verified as f64 / read as f64).min(1.0) };
    let status = if share >= 1.0 { Status::Ok } else { Status::Warning };
    let text = if read == 0 {
        "no data was read back".to_owned()
    } else {
        format!("{:.0} % of the bytes read were verified, without a mismatch", (share * 100.0).floor())
    };
    line(status, "data", text)
}

fn failures(steps: &[&StepResult]) -> TrustLine {
    let errors: u64 = steps.iter().map(|step| step.measure.error_count()).sum();
    let operations: u64 = steps.iter().map(|step| step.measure.attempted()).sum();
    if errors == 0 {
        return line(Status::Ok, "failures", "no operation failed");
    }
    let mut classes: BTreeMap<ErrorClass, u64> = BTreeMap::new();
    for (class, count) in steps.iter().flat_map(|step| &step.measure.errors) {
        *classes.entry(*class).or_default() += count;
    }
    let named: Vec<String> = classes.iter().map(|(class, count)| format!("{count} {class}")).collect();
    line(
        Status::Warning,
        "failures",
        format!("{errors} of {operations} operations failed: {}", named.join(", ")),
    )
}

fn participation(steps: &[&StepResult]) -> Option<TrustLine> {
    let silent: Vec<&&StepResult> =
        steps.iter().filter(|step| step.measure.users_reported < step.measure.users_assigned).collect();
    let many = steps.iter().any(|step| step.measure.users_assigned > 1);
    if silent.is_empty() {
        return many.then(|| line(Status::Ok, "users", "every user reported in every step"));
    }
    let worst =
        silent.iter().min_by_key(|s| s.measure.users_reported * 100 / s.measure.users_assigned.max(1))?;
    let reported = worst.measure.users_reported;
    let assigned = worst.measure.users_assigned;
    let text = format!(
        "in {} some users finished no transaction (at worst {reported} of {assigned} finished): response times cover mostly the others",
        counted(silent.len(), "step")
    );
    Some(line(Status::Failed, "users", text))
}

/// Per mounted system, and per system that is faster than the link: how many of its cells the client's cache served.
fn client_caches(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<TrustLine> {
    let mut lines = Vec::new();
    for (index, system) in aligned.systems.iter().enumerate() {
        let rows = estimated.sections.iter().flat_map(|section| &section.rows);
        let outcomes: Vec<&Outcome> = rows.filter_map(|row| row.outcomes[index].as_ref()).collect();
        let shares: Vec<ShareRange> = outcomes
            .iter()
            .filter(|outcome| outcome.is_client_cached())
            .filter_map(|outcome| outcome.client_share())
            .collect();
        let counted_cells = outcomes.iter().filter(|outcome| outcome.wire.is_some()).count();
        let name = &system.name;
        let (status, text) = match (shares.as_slice(), counted_cells) {
            ([], _) if system.access != Access::Mounted || outcomes.is_empty() => continue,
            ([], 0) => (
                Status::Warning,
                format!(
                    "{name}: bytes on the wire of this mount were not counted, so that the client's cache may have served any cell"
                ),
            ),
            ([], n) => (
                Status::Ok,
                format!(
                    "{name}: at least 98 % of the bytes of each of {} crossed the wire",
                    counted(n, "cell")
                ),
            ),
            // A rate above that of the link shows it without a count.
            (shares, 0) => (Status::Warning, served(name, shares, outcomes.len())),
            (shares, n) => (Status::Warning, served(name, shares, n.max(shares.len()))),
        };
        lines.push(line(status, "client cache", text));
    }
    lines
}

/// How many cells of a system the client's cache served, and which share of their bytes.
fn served(name: &str, shares: &[ShareRange], cells: usize) -> String {
    let (least, most) = shares.iter().fold((1.0f64, 0.0f64), |(l, m), s| (l.min(s.low), m.max(s.low)));
    let least = whole_percent(least);
    let most = whole_percent(most);
    let range = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let exact = shares.iter().all(|share| share.low >= share.high);
    let range = if exact { range } else { format!("at least {range}") };
    format!(
        "{name}: the client's cache served {} of {} ({range} % of their bytes did not cross the wire): the rate that users see, not that of the server",
        shares.len(),
        counted(cells, "cell")
    )
}

/// What lowers the confidence in a verdict; none where nothing does.
fn confidence(comparison: &Comparison) -> Option<TrustLine> {
    let confidence = comparison.verdict.confidence.filter(|confidence| *confidence < Confidence::High)?;
    let objections: Vec<String> = comparison.verdict.objections.iter().map(Objection::words).collect();
    let text = format!("{}: {}: {}", comparison.name, confidence.word(), objections.join("; "));
    Some(line(Status::Warning, "confidence", text))
}

fn order(comparisons: &[Comparison]) -> Option<TrustLine> {
    let pairing = comparisons.iter().flat_map(|c| c.sections.iter().flatten()).map(|s| s.pairing);
    Some(match pairing.max()? {
        Pairing::Interleaved => line(
            Status::Ok,
            "order",
            "the systems are interleaved within each repetition: drift affects all of them equally",
        ),
        Pairing::NotInterleaved => line(
            Status::Warning,
            "order",
            "some systems were not interleaved: a change over time cannot be distinguished from a difference",
        ),
        Pairing::SingleRun => line(
            Status::Warning,
            "order",
            "some positions were measured once: chance cannot be ruled out there",
        ),
    })
}

/// Smallest difference that the intervals detect, from their median half-width.
fn smallest_difference(estimated: &Estimated, tolerance: f64) -> Option<TrustLine> {
    let rows = estimated.sections.iter().flat_map(|section| &section.rows);
    let ratios: Vec<_> = rows.flat_map(|row| row.ratios.iter().flatten()).collect();
    if ratios.is_empty() {
        return None;
    }
    let mut widths: Vec<f64> =
        ratios.iter().filter_map(|r| Some(r.typical.interval?.map(f64::ln).half_width())).collect();
    let Some(half_width) = median(&mut widths) else {
        return Some(line(
            Status::Warning,
            "sensitivity",
            "fewer than 6 repetitions: no intervals, so no verdicts",
        ));
    };
    let visible = half_width.exp_m1() + tolerance;
    let status = if visible <= 0.1 { Status::Ok } else { Status::Warning };
    let text = format!("a difference of {} in one cell would typically be detected", percent(visible, 1));
    Some(line(status, "sensitivity", text))
}

/// Which cells reached the requested precision, if repetition stops on precision.
fn precision(run: &RunData) -> Option<TrustLine> {
    // A search for loads has no precision of cells.
    let rule = run.header.repeat.filter(|rule| rule.half_width.is_some() || rule.budget_ns.is_some())?;
    let widths = cell_widths(run);
    let mut known: Vec<f64> = widths.iter().filter_map(|width| *width).collect();
    let middle = percent(median(&mut known)?.exp_m1(), 1);
    let widest = percent(known.last()?.exp_m1(), 1);
    let cells = counted(widths.len(), "cell");
    let Some(requested) = rule.half_width else {
        let text = format!(
            "within the time budget half of {cells} reached ±{middle} or better, the widest ±{widest}"
        );
        return Some(line(Status::Ok, "precision", text));
    };
    let reached = known.iter().filter(|width| **width <= requested.ln_1p()).count();
    let share = percent_limit(requested);
    Some(if reached == widths.len() {
        line(Status::Ok, "precision", format!("all {cells} reached ±{share}"))
    } else {
        let open = widths.len() - reached;
        let text = format!("{open} of {cells} did not reach ±{share}: the widest is ±{widest}");
        line(Status::Warning, "precision", text)
    })
}

/// One line for the known clocks, and one for each clock that is unknown or inferred from its times.
fn clock(runs: &[RunData], clocks: &[Clock]) -> Vec<TrustLine> {
    let mut lines = Vec::new();
    let known = || runs.iter().zip(clocks).filter_map(|(run, clock)| Some((run, clock.resolution_ns?)));
    let shortest = |run: &RunData| {
        let times = run.steps.iter().map(|s| s.measure.base_ns()).filter(|ns| *ns > 0);
        times.min().unwrap_or(u64::MAX) as f64
    };
    if known().next().is_some() {
        let coarsest = known().map(|(_, clock)| clock).fold(0.0, f64::max);
        let fine = known().all(|(run, clock)| shortest(run) >= 200.0 * clock);
        let least = known().map(|(run, _)| shortest(run)).fold(f64::INFINITY, f64::min);
        let measured = known().any(|(run, _)| !run.steps.is_empty());
        let text = format!(
            "resolution {}, shortest measured time {}",
            show_nanos(coarsest),
            if measured { show_nanos(least) } else { "none".to_owned() }
        );
        lines.push(line(if fine { Status::Ok } else { Status::Warning }, "clock", text));
    }
    for (run, clock) in runs.iter().zip(clocks) {
        let text = match (clock.words(), clock.reported_ns) {
            (Some(words), _) => format!("{}: {words}", run.label),
            (None, Some(_)) => continue,
            (None, None) => {
                format!(
                    "{}: the resolution is not stated (import --clock), so that only ratios above 3 are resolved",
                    run.label
                )
            }
        };
        lines.push(line(Status::Warning, "clock", text));
    }
    lines
}
