//! Self-checks of load steps: pace, deadlines, lost sessions.

use std::time::Duration;

use sharebench_model::units::{ByteSize, percent, show_nanos, three_digits};
use sharebench_model::{Check, LoadDetail, Measure, SetCheck, Verdict};

use crate::check::verdict::{check, unless};

/// Below this share of the scheduled transactions, users cannot keep their pace: the step is overloaded.
const KEPT: f64 = 0.95;
/// Maximum number of outages of a step that are listed individually.
const MAX_LISTED_OUTAGES: usize = 3;

/// Users with a fixed pace complete as many transactions as they start; otherwise the server is overloaded.
pub(crate) fn paced(measure: &Measure, users: u32, period: Duration) -> Check {
    let asked = f64::from(users) / period.as_secs_f64();
    let planned = asked * measure.window_ns as f64 / 1e9;
    // Each user may have one transaction in progress at the end of the window.
    let least = planned * KEPT - f64::from(users);
    let ended = three_digits(measure.transaction_rate().unwrap_or_default());
    let detail =
        format!("{ended} of {} scheduled transactions/s of {users} users completed", three_digits(asked));
    let wrong = (measure.transactions as f64) < least;
    unless("pace", wrong, detail, "overloaded: users cannot keep their pace")
}

/// Users log on at the rate at which they arrive; otherwise arriving users wait for others to leave.
pub(crate) fn visited(measure: &Measure, rate: u32, users: u32) -> Check {
    let seconds = measure.window_ns as f64 / 1e9;
    let planned = f64::from(rate) * seconds;
    let logged_on =
        measure.load.operations.iter().find(|part| part.name == "connect").map_or(0, |part| part.count);
    let detail = format!(
        "{} of {rate} arriving users/s logged on",
        three_digits(logged_on as f64 / seconds.max(1e-9))
    );
    // Four standard deviations of a Poisson schedule.
    let wrong = (logged_on as f64) < planned * KEPT - 4.0 * planned.sqrt();
    let remedy = format!("visits last too long for {users} users: use more users, or lower rates");
    unless("visits", wrong, detail, &remedy)
}

/// Transactions that missed their deadline; none without deadlines.
pub(crate) fn deadlines(detail: &LoadDetail) -> Option<Check> {
    let missed = detail.missed();
    let all: u64 = detail.transactions.iter().map(|part| part.count).sum();
    let share = missed as f64 / all.max(1) as f64;
    (missed > 0).then(|| {
        let text = format!("{missed} of {all} transactions ({}) missed their deadline", percent(share, 1));
        check("deadlines", Verdict::Warning, text)
    })
}

/// Lost sessions; none if no session was lost.
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

/// The outages, as times within the window.
fn outages(detail: &LoadDetail) -> String {
    let shown = |ns: u64| show_nanos(ns as f64);
    let found = detail.timeline.outages();
    let times =
        found.iter().take(MAX_LISTED_OUTAGES).map(|o| format!("{} to {}", shown(o.from_ns), shown(o.to_ns)));
    let more = found.len().saturating_sub(MAX_LISTED_OUTAGES);
    let more = if more > 0 { format!(" and {more} times more") } else { String::new() };
    match times.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        times => format!("; nothing ended from {times}{more} of the window"),
    }
}

/// Blocks that were split into several requests; none if no block was split.
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

/// Verification of the data set after an outage; none without an outage.
pub(crate) fn set_check(detail: &LoadDetail) -> Option<Check> {
    let SetCheck { files, bytes, wrong, unread } = detail.set_check;
    (files + unread > 0).then(|| {
        let text =
            format!("after the outage {files} files were read again, {} of them known", ByteSize(bytes));
        match (wrong, unread) {
            (0, 0) => {
                check("data set", Verdict::Valid, format!("{text}: all hold the data last written to them"))
            }
            (0, _) => check("data set", Verdict::Warning, format!("{text}; {unread} could not be read")),
            _ => {
                let text = format!(
                    "{text}; {wrong} do not hold the data last written to them, {unread} could not be read"
                );
                check("data set", Verdict::Invalid, text)
            }
        }
    })
}

/// Sharing of sessions; none if each user had its own.
pub(crate) fn shared(measure: &Measure) -> Option<Check> {
    let per_session = measure.load.users_per_session;
    (per_session > 1).then(|| {
        let text = format!(
            "up to {per_session} users shared each session: operations include the wait for their turn on it"
        );
        check("shared sessions", Verdict::Valid, text)
    })
}

/// Lines of a loadfile that were not replayed; none if all were.
pub(crate) fn left_out(detail: &LoadDetail) -> Option<Check> {
    (!detail.left_out.is_empty()).then(|| {
        let lines = detail.left_out.iter().map(|(what, count)| format!("{count} {what}"));
        let text = format!("loadfile lines not replayed: {}", lines.collect::<Vec<_>>().join("; "));
        check("left out", Verdict::Valid, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_below_the_schedule_is_reported_as_overload() {
        let measure =
            |transactions| Measure { transactions, window_ns: 60_000_000_000, ..Measure::default() };
        let paced = |transactions| paced(&measure(transactions), 10, Duration::from_secs(1)).verdict;
        assert_eq!((paced(598), paced(500)), (Verdict::Valid, Verdict::Warning));
    }
}
