//! The report of `learn` as text.

use std::fmt::Write;

use sharebench_learn::{KindReport, Learned, Percentile, ServerReport, protocol_name};
use sharebench_model::units::{counted, percent, show_nanos, show_rate, show_size};
use sharebench_report::{Style, plain};

use super::lines::Lines;

/// Columns of names and of numbers.
const NAME: usize = 20;
const NUMBER: usize = 10;
/// Columns of a percentile with its interval.
const TIME: usize = 27;
/// Columns of a piped report.
const WIDTH: usize = 120;

/// Formats the report on the captured server and the learned workload.
pub fn text(report: &ServerReport, learned: &Learned, style: Style) -> String {
    let mut out = Lines::new(style, WIDTH);
    server(&mut out, report, learned);
    responses(&mut out, report);
    users(&mut out, report);
    caches(&mut out, report);
    unseen(&mut out, report);
    workload(&mut out, learned);
    coverage(&mut out, learned);
    out.text
}

fn server(out: &mut Lines, report: &ServerReport, learned: &Learned) {
    let seconds = report.duration as f64 / 1e9;
    let per_s = |n: u64| n as f64 / seconds.max(1e-9);
    out.line("CAPTURED SERVER");
    let protocols: Vec<String> = learned
        .protocols
        .iter()
        .map(|(protocol, users)| format!("{} over {}", counted(*users, "user"), protocol_name(*protocol)))
        .collect();
    out.sentence(
        0,
        &format!(
            "{} of {} in {seconds:.1} s: {}",
            counted(report.operations, "operation"),
            counted(report.clients, "client"),
            protocols.join(", ")
        ),
    );
    out.sentence(
        0,
        &format!(
            "read {} ({}), written {} ({}), {:.1} operations/s",
            show_size(report.bytes.0),
            show_rate(per_s(report.bytes.0)),
            show_size(report.bytes.1),
            show_rate(per_s(report.bytes.1)),
            per_s(report.operations)
        ),
    );
}

fn responses(out: &mut Lines, report: &ServerReport) {
    let titles = ["p50", "p95", "p99"].map(|title| format!("{title:>TIME$}")).concat();
    out.line(&format!("\n{:NAME$}{:>NUMBER$}{titles}", "RESPONSE TIMES", "count"));
    for kind in &report.kinds {
        let name = kind.size_class.map_or_else(|| plain(kind.operation), |class| format!("  {class}"));
        let times = (0..3).fold(String::new(), |row, index| {
            format!("{row}{:>TIME$}", kind.response.get(index).map_or_else(|| "-".to_owned(), time))
        });
        out.line(&format!("{name:NAME$}{:>NUMBER$}{times}{}", kind.count, failures(kind)));
    }
    if report.kinds.iter().any(|kind| !kind.response.is_empty()) {
        out.sentence(
            0,
            "In brackets: the 95 % interval, where there are enough replies for one; ? where there are not.",
        );
    }
}

fn failures(kind: &KindReport) -> String {
    let mut text = String::new();
    for (count, what) in [(kind.not_found, "not found"), (kind.failed, "failed")] {
        if count > 0 {
            // Writing to a String cannot fail.
            let _ = write!(text, "  {count} {what}");
        }
    }
    text
}

fn time(percentile: &Percentile) -> String {
    let value = show_nanos(percentile.ns as f64);
    match percentile.interval {
        Some((low, high)) => format!("{value} [{}, {}]", show_nanos(low as f64), show_nanos(high as f64)),
        None => format!("{value} [?]"),
    }
}

fn users(out: &mut Lines, report: &ServerReport) {
    if report.slowest_users.len() < 2 {
        return;
    }
    out.line("\nUSERS WITH THE LONGEST RESPONSE TIMES");
    if let Some(usual) = report.usual_user_p95 {
        out.line(&format!("the median user has a p95 of {}", show_nanos(usual as f64)));
    }
    for user in &report.slowest_users {
        let name = format!("user {} (client {})", user.user, user.client);
        let p95 = user.response.get(1).map_or_else(|| "-".to_owned(), time);
        out.line(&format!("{name:26}{:>NUMBER$} replies, p95 {p95}", user.count));
    }
}

fn caches(out: &mut Lines, report: &ServerReport) {
    let caches = &report.caches;
    let share = |part: u64, of: u64| percent(part as f64 / of.max(1) as f64, 1);
    out.line("\nCACHES, as far as the wire shows them");
    if caches.opens_to_read > 0 {
        let part = share(caches.opens_without_read, caches.opens_to_read);
        out.sentence(
            0,
            &format!(
                "{part} of {} opens to read were closed without a read: the client had the data, or needed none",
                caches.opens_to_read
            ),
        );
    }
    if caches.bytes_read > 0 {
        let part = share(caches.bytes_read_again, caches.bytes_read);
        out.sentence(0, &format!("{part} of the bytes read had been read before by the same user, and not written since: a client cache would have saved them"));
    }
    if caches.attribute_requests > 0 {
        let part = share(caches.attributes_again, caches.attribute_requests);
        out.sentence(0, &format!("{part} of {} requests for attributes and look-ups repeated one of the same user within a second", caches.attribute_requests));
    }
}

fn unseen(out: &mut Lines, report: &ServerReport) {
    let unseen = &report.unseen;
    out.line("\nNOT SEEN");
    let rows = [
        (unseen.lost_bytes, "bytes of connections are missing in the input"),
        (unseen.began_before, "connections began before the input"),
        (unseen.encrypted, "encrypted messages without a key that fits"),
        (unseen.cut, "messages were cut short by the capture"),
        (unseen.not_understood, "messages were not understood"),
        (unseen.forgotten, "connections were forgotten: the input has more at a time than fit in memory"),
        (unseen.without_reply, "requests have no reply; they are in no response time"),
        (unseen.without_request, "replies have no request"),
        (unseen.clock_steps, "times the clock of the capture stepped back"),
    ];
    let mut is_complete = unseen.without_duration == 0;
    if !is_complete {
        out.sentence(
            0,
            &format!(
                "{} in logs, which have no durations: their response times are not known",
                counted(unseen.without_duration, "operation")
            ),
        );
    }
    // Finer time stamps than the shortest think time hide nothing.
    if unseen.resolution_ns >= 1_000_000 {
        is_complete = false;
        out.sentence(
            0,
            &format!(
                "think times are known to {} only: the time stamps of the logs are no finer",
                show_nanos(unseen.resolution_ns as f64)
            ),
        );
    }
    for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
        is_complete = false;
        out.line(&format!("{count:>NUMBER$} {what}"));
    }
    if is_complete {
        out.line("nothing is known to be missing");
    }
}

fn workload(out: &mut Lines, learned: &Learned) {
    out.line("\nLEARNED WORKLOAD");
    let users = &learned.users;
    out.sentence(
        0,
        &format!(
            "{} with {}, {:.1} active on average, {} in the busiest {:.0} s",
            counted(users.users, "user"),
            counted(users.streams, "stream"),
            users.mean_active,
            users.peak,
            users.slot_ns as f64 / 1e9
        ),
    );
    out.sentence(
        0,
        &format!(
            "think time: mean {} over {}; distance of the law in the preset: {:.3}",
            show_nanos(learned.mean_think),
            counted(learned.think.n, "pause"),
            learned.think.ks
        ),
    );
    out.line(&format!(
        "\n{:NAME$}{:>NUMBER$}{:>NUMBER$}{:>NUMBER$}",
        "OPERATION", "captured", "share", "preset"
    ));
    for row in &learned.mix {
        let captured = percent(row.captured_share, 1);
        let preset = percent(row.preset_share, 1);
        out.line(&format!(
            "{:NAME$}{:>NUMBER$}{captured:>NUMBER$}{preset:>NUMBER$}",
            row.operation, row.captured
        ));
    }
    out.line(&format!("\n{:>NUMBER$}  TRANSACTION", "weight"));
    for transaction in &learned.transactions {
        out.line(&format!("{:>NUMBER$}  {}", transaction.weight, transaction.name));
    }
}

fn coverage(out: &mut Lines, learned: &Learned) {
    let coverage = &learned.coverage;
    out.line(&format!("\nIN THE PRESET: {} of the operations", percent(coverage.share(), 1)));
    for left_out in &coverage.not_expressed {
        out.line(&format!("{:>NUMBER$} not: {}", left_out.operations, left_out.what));
    }
    for simplified in &coverage.simplified {
        out.sentence(0, &format!("simplified: {simplified}"));
    }
}
