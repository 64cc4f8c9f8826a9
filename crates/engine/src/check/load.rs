//! Self-checks of loads alone: whether a pace was kept, deadlines met, sessions held.

use std::time::Duration;

use sharebench_model::units::{ByteSize, show_nanos, three_digits};
use sharebench_model::{Check, LoadDetail, Measure, SetCheck, Verdict};

use crate::check::verdict::{check, percent, unless};

/// Below this share of the scenarios asked for, users cannot keep their pace: the step is overloaded.
const KEPT: f64 = 0.95;
/// Most outages of a step that are told one by one.
const TOLD_OUTAGES: usize = 3;

/// Users who start at a fixed pace end as many transactions as they start, or the server is overloaded.
pub(crate) fn paced(measure: &Measure, users: u32, period: Duration) -> Check {
    let asked = f64::from(users) / period.as_secs_f64();
    let planned = asked * measure.window_ns as f64 / 1e9;
    // What each user has under way at the end of the window.
    let least = planned * KEPT - f64::from(users);
    let ended = three_digits(measure.transaction_rate().unwrap_or_default());
    let detail =
        format!("{ended} of {} transactions/s that {users} users ask for ended", three_digits(asked));
    let wrong = (measure.transactions as f64) < least;
    unless("pace", wrong, detail, "overloaded: users cannot keep their pace")
}

/// As many users log on as come, or those who come wait for others to go.
pub(crate) fn visited(measure: &Measure, rate: u32, users: u32) -> Check {
    let seconds = measure.window_ns as f64 / 1e9;
    let planned = f64::from(rate) * seconds;
    let logged_on =
        measure.load.operations.iter().find(|part| part.name == "connect").map_or(0, |part| part.count);
    let detail = format!(
        "{} of {rate} users/s that came logged on",
        three_digits(logged_on as f64 / seconds.max(1e-9))
    );
    // Four standard deviations of a Poisson schedule.
    let wrong = (logged_on as f64) < planned * KEPT - 4.0 * planned.sqrt();
    let remedy = format!("visits last longer than {users} users can hold: use more (steps), or lower rates");
    unless("visits", wrong, detail, &remedy)
}

/// Transactions with a deadline that missed it; none where there are no deadlines to miss.
pub(crate) fn deadlines(detail: &LoadDetail) -> Option<Check> {
    let missed = detail.missed();
    let all: u64 = detail.transactions.iter().map(|part| part.count).sum();
    let share = missed as f64 / all.max(1) as f64;
    (missed > 0).then(|| {
        let text = format!("{missed} of {all} transactions ({}) were behind their deadline", percent(share));
        check("deadlines", Verdict::Warning, text)
    })
}

/// Sessions that were lost; nothing to say where none was.
pub(crate) fn sessions(detail: &LoadDetail) -> Option<Check> {
    (detail.sessions_lost > 0 || detail.without_session_ns > 0).then(|| {
        let text = format!(
            "{} sessions were lost, and users were without one for {} in all{}",
            detail.sessions_lost,
            show_nanos(detail.without_session_ns as f64),
            outages(detail)
        );
        check("sessions", Verdict::Warning, text)
    })
}

/// When nobody got anything done, by the clock of the window.
fn outages(detail: &LoadDetail) -> String {
    let shown = |ns: u64| show_nanos(ns as f64);
    let found = detail.timeline.outages();
    let times =
        found.iter().take(TOLD_OUTAGES).map(|o| format!("{} to {}", shown(o.from_ns), shown(o.to_ns)));
    let more = found.len().saturating_sub(TOLD_OUTAGES);
    let more = if more > 0 { format!(" and {more} times more") } else { String::new() };
    match times.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        times => format!("; nothing ended from {times}{more} of the window"),
    }
}

/// Blocks that took several requests; nothing to say where each was one.
pub(crate) fn requests(detail: &LoadDetail) -> Option<Check> {
    let split = detail.split;
    (split.blocks > 0).then(|| {
        let block = ByteSize(split.largest.into());
        let text = format!(
            "{} blocks of up to {block} were sent as {} requests, up to {} each: operations are requests",
            split.blocks, split.requests, split.most
        );
        check("requests", Verdict::Valid, text)
    })
}

/// What was read again after an outage; nothing to say where there was none.
pub(crate) fn set_check(detail: &LoadDetail) -> Option<Check> {
    let SetCheck { files, bytes, wrong, unread } = detail.set_check;
    (files + unread > 0).then(|| {
        let text =
            format!("after the outage {files} files were read again, {} of them known", ByteSize(bytes));
        match (wrong, unread) {
            (0, 0) => {
                check("data set", Verdict::Valid, format!("{text}: all hold what was last written to them"))
            }
            (0, _) => check("data set", Verdict::Warning, format!("{text}; {unread} could not be read")),
            _ => {
                let text = format!(
                    "{text}; {wrong} do not hold what was last written to them, {unread} could not be read"
                );
                check("data set", Verdict::Invalid, text)
            }
        }
    })
}

/// That users shared sessions; nothing to say where each had one.
pub(crate) fn shared(measure: &Measure) -> Option<Check> {
    let per_session = measure.load.users_per_session;
    (per_session > 1).then(|| {
        let text = format!(
            "up to {per_session} users shared each session: operations include the wait for their turn on it"
        );
        check("shared sessions", Verdict::Valid, text)
    })
}

/// Lines of a loadfile that were not performed; nothing to say where all were.
pub(crate) fn left_out(detail: &LoadDetail) -> Option<Check> {
    (!detail.left_out.is_empty()).then(|| {
        let lines = detail.left_out.iter().map(|(what, count)| format!("{count} {what}"));
        let text =
            format!("lines of the loadfile that were left out: {}", lines.collect::<Vec<_>>().join("; "));
        check("left out", Verdict::Valid, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_that_is_not_kept_is_overload() {
        let measure =
            |transactions| Measure { transactions, window_ns: 60_000_000_000, ..Measure::default() };
        let paced = |transactions| paced(&measure(transactions), 10, Duration::from_secs(1)).verdict;
        assert_eq!((paced(598), paced(500)), (Verdict::Valid, Verdict::Warning));
    }
}
