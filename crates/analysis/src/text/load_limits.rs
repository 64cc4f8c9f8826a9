//! Sentences on load steps whose rates support no comparison: too few transactions, or a rate that the think time
//! determines.

use sharebench_model::units::{counted, percent};

use crate::load::support::{MAX_HALF_WIDTH, is_bound_by_think_time, is_supported, rate_limit};
use crate::text::position::position;
use crate::text::stages::Stages;
use crate::types::{LoadSupport, Outcome, RateLimit, Row, Section};

/// Lengths of a window in seconds that a sentence recommends; beyond them whole hours.
const WINDOWS_S: [u64; 17] = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1800, 3600];

/// The steps with too few transactions, in one sentence: how many steps, the one that needs the longest window, and
/// that window. None where every step has enough.
pub(crate) fn too_few(stages: &Stages<'_>, section: &Section) -> Option<String> {
    let steps = || section.rows.iter().filter(|row| row.outcomes.iter().any(Option::is_some));
    let thin = |row: &&Row| row.outcomes.iter().flatten().any(|outcome| !is_supported(outcome));
    let (row, system, support) = steps()
        .flat_map(|row| {
            let outcomes = row.outcomes.iter().enumerate();
            outcomes.filter_map(move |(system, outcome)| Some((row, system, outcome.as_ref()?)))
        })
        .filter(|(.., outcome)| !is_supported(outcome))
        .filter_map(|(row, system, outcome)| Some((row, system, outcome.load.as_ref()?.support?)))
        .max_by(|x, y| longer(&x.2).total_cmp(&longer(&y.2)))?;
    let width = support.half_width.filter(|half| *half > MAX_HALF_WIDTH).map_or(String::new(), |half| {
        format!(
            " (the rate is known to ±{}, and ±{} is needed)",
            // Rounded up: 20.3 % is not the 20 % that are needed.
            percent((half * 100.0).ceil() / 100.0, 0),
            percent(MAX_HALF_WIDTH, 0)
        )
    });
    let objectives = section.rows.iter().flat_map(|row| row.outcomes.iter().flatten());
    let objective = objectives
        .filter_map(|outcome| outcome.load.as_ref()?.objective.as_ref())
        .map(|objective| objective.wanted.as_str())
        .next();
    let are = if support.transactions == 1 { "is" } else { "are" };
    Some(format!(
        "{}: no ratio, stress point{} from {} of {}: {} of {} at {} {are} too few{width}; {}.",
        section.title,
        objective
            .map_or_else(|| " or forecast".to_owned(), |wanted| format!(", forecast or verdict on {wanted}")),
        steps().filter(thin).count(),
        counted(steps().count(), "load step"),
        counted(support.transactions, "transaction"),
        stages.aligned.systems[system].name,
        position(section, &row.position),
        remedy(&support)
    ))
}

/// How many times as long the window has to be.
fn longer(support: &LoadSupport) -> f64 {
    support.needed as f64 / support.transactions.max(1) as f64
}

/// `--measure 60s gives about 40`.
fn remedy(support: &LoadSupport) -> String {
    let window_s = support.window_ns as f64 / 1e9;
    let wanted_s = window_s * longer(support);
    let listed = WINDOWS_S.into_iter().find(|window| *window as f64 >= wanted_s);
    let measure_s = listed.unwrap_or_else(|| (wanted_s / 3600.0).ceil() as u64 * 3600);
    let shown = match measure_s {
        s if s >= 3600 => format!("{}h", s / 3600),
        s if s >= 120 => format!("{}m", s / 60),
        s => format!("{s}s"),
    };
    if support.transactions == 0 {
        return format!("{} are needed, so increase --measure", support.needed);
    }
    let expected = support.transactions as f64 * measure_s as f64 / window_s;
    format!("--measure {shown} gives about {expected:.0}")
}

/// The steps whose rate the think time determines, in one sentence; none where there are none.
pub(crate) fn bound_by_think_time(section: &Section) -> Option<String> {
    let steps = || section.rows.iter().filter(|row| row.outcomes.iter().any(Option::is_some));
    let bound: Vec<&Row> = steps().filter(|row| bound_outcomes(row).next().is_some()).collect();
    let outcomes = || bound.iter().flat_map(|row| bound_outcomes(row));
    let waiting = outcomes().filter_map(waiting_share).reduce(f64::max)?;
    let waiting = if waiting <= 0.05 {
        format!("users wait for a reply at most {} of their time", percent(waiting, 1))
    } else {
        "users keep their pace".to_owned()
    };
    let at = match (bound.len(), steps().count()) {
        (some, all) if some == all => format!("at all {}", counted(all, "load step")),
        (some, all) => format!("at {some} of {}", counted(all, "load step")),
    };
    Some(format!(
        "{}: the think time determines the rate {at} ({waiting}), so these rates do not compare the servers; compare the \
         response times, or use more users or a shorter --think.",
        section.title
    ))
}

/// Outcomes of a step whose rates the think time determines: those that are not compared with each other, or the only one.
fn bound_outcomes(row: &Row) -> impl Iterator<Item = &Outcome> {
    let bound: Vec<&Outcome> =
        row.outcomes.iter().flatten().filter(|outcome| is_bound_by_think_time(outcome)).collect();
    let alone = row.outcomes.iter().flatten().count() == 1;
    let pair = bound.len() > 1 && rate_limit(bound[0], bound[1]) == Some(RateLimit::ThinkTime);
    bound.into_iter().filter(move |_| alone || pair)
}

/// Share of a user's time that passes in waiting for replies.
fn waiting_share(outcome: &Outcome) -> Option<f64> {
    let think_ns = outcome.load.as_ref()?.think_ns as f64;
    let response_ns = outcome.response_mean_ns?;
    Some(response_ns / (response_ns + think_ns))
}
