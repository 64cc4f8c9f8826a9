//! Sentences on loads: stress point, knee, objective, capacity, users that were served badly or not at all.

use sharebench_model::axis;
use sharebench_model::units::{counted, percent, show_nanos, three_digits};
use sharebench_stats::Estimate;

use crate::load::support::is_supported;
use crate::text::load_unit;
use crate::text::position::position;
use crate::text::stages::Stages;
use crate::types::{CapacityReport, LoadOutcome, Outcome, Section, StressPoint};

/// Declines up to this share are no stress point, so that no sentence names them.
const SMALL_DECLINE: f64 = 0.05;

/// Below this share of even service users are treated unequally (Jain's index; 0.9 is one of ten users left out).
const FAIR: f64 = 0.9;

/// The findings on a load.
pub(crate) fn load_sentences(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let mut sentences = Vec::new();
    for stress in &section.stress {
        sentences.push(stress_point(stages, section, stress));
    }
    for system in 0..stages.aligned.systems.len() {
        let name = &stages.aligned.systems[system].name;
        sentences.extend(kept(section, system, name));
        sentences.extend(load_unit::sustained(section, system, name));
        if !load_unit::judges_pace(section, system) {
            sentences.extend(paced(section, system, name));
        }
    }
    for report in &section.capacity {
        let name = &stages.aligned.systems[report.system].name;
        sentences.extend(scalability_law(section, report, name));
        sentences.extend(predicted(section, report, name));
    }
    for row in &section.rows {
        let at = position(section, &row.position);
        for (system, outcome) in row.outcomes.iter().enumerate() {
            let Some(outcome) = outcome else { continue };
            let name = &stages.aligned.systems[system].name;
            if outcome.users_reported < outcome.users_assigned {
                sentences.push(silent_users(&section.title, name, &at, outcome));
            }
            let unfair = outcome.load.as_ref().and_then(|load| unfair_users(&section.title, name, &at, load));
            sentences.extend(unfair);
        }
    }
    sentences
}

/// How many users one system supports: the largest load that keeps the objective or its pace, and the stress point.
pub(crate) fn supported_users(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let systems = stages.aligned.systems.iter().enumerate();
    let largest = systems.flat_map(|(at, system)| {
        kept(section, at, &system.name).into_iter().chain(load_unit::sustained(section, at, &system.name))
    });
    largest.chain(section.stress.iter().map(|stress| stress_point(stages, section, stress))).collect()
}

/// Units without a verdict, with the reason.
pub(crate) fn refused_units(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let systems = stages.aligned.systems.iter().enumerate();
    systems.flat_map(|(system, described)| load_unit::unresolved(section, system, &described.name)).collect()
}

/// Rejected forecasts with the reason.
pub(crate) fn refused_forecasts(stages: &Stages<'_>, section: &Section) -> Vec<String> {
    let refused = |report: &CapacityReport| {
        let name = &stages.aligned.systems[report.system].name;
        let because = |what: &'static str| {
            move |reason: &String| format!("{}: no {what} for {name}: {reason}.", section.title)
        };
        let law = report.scalability_rejected.as_ref().map(because("scalability law (USL)"));
        law.into_iter().chain(report.rejected.as_ref().map(because("forecast")))
    };
    section.capacity.iter().flat_map(refused).collect()
}

fn stress_point(stages: &Stages<'_>, section: &Section, stress: &StressPoint) -> String {
    let title = &section.title;
    let name = &stages.aligned.systems[stress.system].name;
    let most = format!("{} at {}", section.unit.show(stress.peak.1), counted(stress.peak.0, "user"));
    match stress.after {
        Some(users) => format!(
            "{title}: {name} passes its stress point after {}: with {} it is {} slower. Peak: {most}.",
            counted(users, "user"),
            counted(stress.at.unwrap_or(users), "user"),
            percent(stress.decline, 0)
        ),
        None if stress.unnoticed > SMALL_DECLINE => format!(
            "{title}: {name} reached no stress point up to {} users, as far as the rates show: a decline of up to {} is \
             possible. Peak: {most}.",
            stress.tried,
            percent(stress.unnoticed, 0)
        ),
        None => {
            format!("{title}: {name} reached no stress point up to {} users. Peak: {most}.", stress.tried)
        }
    }
}

/// Loads with an objective and enough transactions to judge it: (load, kept, arithmetic), rising.
fn judged(section: &Section, system: usize) -> Vec<(u64, bool, &LoadOutcome)> {
    let load = |row: &crate::types::Row| {
        row.coordinates.number(axis::RATE).or_else(|| row.coordinates.users_or_jobs()).unwrap_or(0)
    };
    let mut judged: Vec<_> = section
        .rows
        .iter()
        .filter_map(|row| {
            // Percentiles of a few transactions neither meet nor miss anything.
            let outcome =
                row.outcomes[system].as_ref().filter(|outcome| is_supported(outcome))?.load.as_deref()?;
            Some((load(row), outcome.objective.as_ref()?.kept, outcome))
        })
        .collect();
    judged.sort_by_key(|(load, ..)| *load);
    judged
}

/// The largest load that meets an objective, and the smallest that misses it.
fn kept(section: &Section, system: usize, name: &str) -> Option<String> {
    let judged = judged(section, system);
    let wanted = &judged.first()?.2.objective.as_ref()?.wanted;
    let open = section.rows.iter().any(|row| row.coordinates.get(axis::RATE).is_some());
    let unit = if open { "starts/s" } else { "users" };
    let title = &section.title;
    let missed = judged.iter().find(|(_, kept, _)| !kept);
    let highest = judged.iter().take_while(|(_, kept, _)| *kept).last();
    let detail =
        |load: &LoadOutcome| load.objective.as_ref().map_or("", |objective| &objective.detail).to_owned();
    Some(match (highest, missed) {
        (Some((most, _, load)), None) => {
            format!(
                "{title}: {name} meets {wanted} up to {most} {unit}, the largest load measured ({}).",
                detail(load)
            )
        }
        (Some((most, ..)), Some((least, _, load))) => {
            let knee = if open { "its knee: " } else { "" };
            format!(
                "{title}: {knee}{name} meets {wanted} up to {most} {unit} and {} {least} ({}).",
                misses(load),
                detail(load)
            )
        }
        (None, Some((least, _, load))) => {
            let missed = if load.objective_kept.unwrap_or(0) > 0 { "does not always meet" } else { "misses" };
            format!("{title}: {name} {missed} {wanted} at {least} {unit} already ({}).", detail(load))
        }
        (None, None) => return None,
    })
}

/// How a load misses its objective: in all repetitions, or in some.
fn misses(load: &LoadOutcome) -> &'static str {
    if load.objective_kept.unwrap_or(0) > 0 { "does not always meet it at" } else { "misses it at" }
}

/// Users at a fixed pace: how many are sustained without overload.
fn paced(section: &Section, system: usize, name: &str) -> Option<String> {
    let overloaded = |outcome: &Outcome| outcome.remarks.iter().any(|remark| remark.starts_with("pace: "));
    let mut steps: Vec<(u64, bool)> = section
        .rows
        .iter()
        .filter_map(|row| {
            Some((row.coordinates.users_or_jobs()?, overloaded(row.outcomes[system].as_ref()?)))
        })
        .collect();
    steps.sort_unstable();
    let (least, _) = steps.iter().find(|(_, overloaded)| *overloaded)?;
    let carried = steps.iter().take_while(|(_, overloaded)| !overloaded).last();
    let carried = carried.map_or_else(|| "no step".to_owned(), |(users, _)| format!("{users} users"));
    Some(format!(
        "{}: {name} sustains {carried} at their pace and is overloaded with {least}.",
        section.title
    ))
}

fn predicted(section: &Section, report: &CapacityReport, name: &str) -> Option<String> {
    let (users, estimate) = report.forecast.as_ref()?;
    let model = report.model.as_deref().unwrap_or("model");
    let knee = report.knee.map_or_else(String::new, |knee| format!("knee at {} users; ", three_digits(knee)));
    Some(format!(
        "{}: forecast by the {model}, which predicts the last steps best: {knee}{name} reaches {} with {users:.0} users.",
        section.title,
        spread(section, report, estimate)
    ))
}

/// The law that fits the rates of an imported table.
fn scalability_law(section: &Section, report: &CapacityReport, name: &str) -> Option<String> {
    let law = report.scalability.as_ref()?;
    let with_error = |value: String, error: Option<f64>| match error {
        Some(error) => format!("{value} (standard error {})", parameter(error, 2)),
        None => value,
    };
    let peak = match law.peak {
        _ if law.better_curve.is_some() => format!(
            "{} predicts each step better from the others, so the peak of the law is not stated",
            law.better_curve.as_deref().unwrap_or_default()
        ),
        Some((users, rate)) => {
            format!("the rate peaks at {} users with {}", three_digits(users), rate_of(section, report, rate))
        }
        None => "the rate has no peak".to_owned(),
    };
    Some(format!(
        "{}: the scalability law (USL, least squares of the rates) of {name} has a contention alpha of {}, a coherency beta of {} \
         and a rate gamma of {} for one user; {peak}.",
        section.title,
        with_error(parameter(law.alpha, 3), law.errors[0]),
        with_error(parameter(law.beta, 3), law.errors[1]),
        with_error(rate_of(section, report, law.gamma), None),
    ))
}

/// A parameter of the law with significant digits, however small.
fn parameter(value: f64, digits: u32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (f64::from(digits) - 1.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

fn rate_of(section: &Section, report: &CapacityReport, rate: f64) -> String {
    if report.in_transactions {
        format!("{} transactions/s", three_digits(rate))
    } else {
        section.unit.show(rate)
    }
}

fn spread(section: &Section, report: &CapacityReport, estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) if report.in_transactions => format!(
            "{} [{}, {}] transactions/s",
            three_digits(estimate.value),
            three_digits(interval.low),
            three_digits(interval.high)
        ),
        Some(interval) => format!(
            "{} [{}, {}]",
            section.unit.show(estimate.value),
            section.unit.show(interval.low),
            section.unit.show(interval.high)
        ),
        None => rate_of(section, report, estimate.value),
    }
}

fn silent_users(title: &str, name: &str, at: &str, outcome: &Outcome) -> String {
    let silent = format!(
        "{title}: with {name} at {at} only {} of {} users finished a transaction",
        outcome.users_reported, outcome.users_assigned
    );
    match outcome.response_mean_ns {
        Some(mean) => format!(
            "{silent}; its mean response time of {} includes the others, if at all, with the time that they had waited.",
            show_nanos(mean)
        ),
        None => format!("{silent}."),
    }
}

fn unfair_users(title: &str, name: &str, at: &str, load: &LoadOutcome) -> Option<String> {
    let index = load.fairness.index().filter(|index| *index < FAIR)?;
    // Few transactions differ by chance: a Poisson count of k has an index of about 1 / (1 + 1/k).
    let each = load.fairness.sum as f64 / load.fairness.users.max(1) as f64;
    (index < FAIR * each / (each + 1.0)).then(|| {
        format!(
            "{title}: with {name} at {at} users were served unevenly: from {} to {} transactions each (fairness {index:.2} of 1).",
            load.fairness.least, load.fairness.most
        )
    })
}
