//! Sentences on the units of a load: how many a system sustains, and where the data support no verdict.

use sharebench_model::units::{counted, percent};

use crate::types::{Section, UnitOutcome, UnitShare};

/// The units of a system, rising.
fn outcomes(section: &Section, system: usize) -> Vec<&UnitOutcome> {
    let rows = section.rows.iter();
    let mut found: Vec<&UnitOutcome> =
        rows.filter_map(|row| row.outcomes[system].as_ref()?.load.as_ref()?.unit.as_ref()).collect();
    found.sort_by_key(|outcome| outcome.number);
    found
}

/// True if the verdict of a unit says already whether users keep their pace.
pub(crate) fn judges_pace(section: &Section, system: usize) -> bool {
    outcomes(section, system)
        .iter()
        .any(|outcome| outcome.kind == UnitShare::Pace && outcome.sustained.is_some())
}

/// The most units that a system sustains, and the fewest that it does not.
pub(crate) fn sustained(section: &Section, system: usize, name: &str) -> Option<String> {
    let all = outcomes(section, system);
    let fails = all.iter().find(|outcome| outcome.sustained == Some(false));
    let below = |outcome: &&&UnitOutcome| fails.is_none_or(|fails| outcome.number < fails.number);
    let holds = all.iter().filter(below).rfind(|outcome| outcome.sustained == Some(true));
    let first = holds.or(fails)?;
    let scale =
        first.scale.as_ref().map_or_else(String::new, |scale| format!(" with {scale} of the data set"));
    let verdict = |outcome: &UnitOutcome, said: &str| {
        format!("{} {said}: {}", counted(outcome.number, &outcome.name), measured(outcome))
    };
    let said = match (holds, fails) {
        (Some(holds), Some(fails)) => {
            format!("{}; {}", verdict(holds, "sustained"), verdict(fails, "not sustained"))
        }
        (Some(holds), None) => format!("{}, the most measured", verdict(holds, "sustained")),
        (None, _) => verdict(first, "not sustained"),
    };
    Some(format!("{}: {name}: {said} ({}{scale}).", section.title, first.objective))
}

/// Steps whose data support no verdict, in one sentence for each reason.
pub(crate) fn unresolved(section: &Section, system: usize, name: &str) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&UnitOutcome>)> = Vec::new();
    for outcome in outcomes(section, system) {
        let Some(reason) = outcome.refused.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, outcomes)) => outcomes.push(outcome),
            None => reasons.push((reason, vec![outcome])),
        }
    }
    let sentence = |(reason, outcomes): (&str, Vec<&UnitOutcome>)| {
        let last = outcomes[outcomes.len() - 1];
        let numbers: Vec<String> = outcomes.iter().map(|outcome| outcome.number.to_string()).collect();
        let found = last.share.map_or_else(String::new, |_| format!(" ({})", measured(last)));
        let noun = if last.number == 1 && outcomes.len() == 1 { "" } else { "s" };
        format!(
            "{}: no verdict on {} for {} {}{noun} of {name}{found}: {reason}.",
            section.title,
            last.objective,
            numbers.join(", "),
            last.name
        )
    };
    reasons.into_iter().map(sentence).collect()
}

/// `0.02 % [0.01 %, 0.04 %] of 17280 frames late`.
fn measured(outcome: &UnitOutcome) -> String {
    let decimals = if outcome.kind == UnitShare::Missed { 2 } else { 1 };
    let Some(share) = outcome.share else { return format!("no {} completed", outcome.transaction) };
    let shown = |share: f64| percent(share, decimals);
    let interval = share
        .interval
        .map_or_else(String::new, |interval| format!(" [{}, {}]", shown(interval.low), shown(interval.high)));
    let value = shown(share.value);
    match outcome.kind {
        UnitShare::Missed => {
            format!("{value}{interval} of {} late", counted(outcome.transactions, &outcome.transaction))
        }
        UnitShare::Pace => format!("{value}{interval} of the requested {}s completed", outcome.transaction),
        UnitShare::Busy => format!("busy {value}{interval} of the time"),
    }
}
