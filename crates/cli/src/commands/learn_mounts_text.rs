//! The report of `learn` on NFS mounts as text.

use std::fmt::Write;

use sharebench_learn::{Basis, MountOperation, MountReport};
use sharebench_model::units::{counted, percent, show_size};

/// Columns of names and of numbers.
const NAME: usize = 18;
const NUMBER: usize = 11;
const TITLES: [&str; 9] =
    ["count", "share", "kB sent", "kB received", "sent again", "queue ms", "RTT ms", "execute ms", "errors"];

/// Formats the reports on mounts.
pub fn text(reports: &[MountReport], snapshots: usize) -> String {
    let mut text = String::new();
    if snapshots == 1 {
        text.push_str("one snapshot: each mount is counted since it was mounted\n");
    }
    for report in reports {
        if !text.is_empty() {
            text.push('\n');
        }
        mount(&mut text, report);
    }
    text.push_str(
        "\nkB, ms: means for each operation. Queue: before the request was sent. RTT: until its reply. Execute: both, and waiting.\n",
    );
    text
}

/// Adds a line. Writing to a String cannot fail.
fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{arguments}");
}

fn mount(text: &mut String, report: &MountReport) {
    let MountReport { number, protocol, seconds, .. } = report;
    line(text, format_args!("MOUNT {number} ({protocol})"));
    match report.basis {
        Basis::Snapshots => line(text, format_args!("{seconds} s from its first to its last snapshot")),
        Basis::Mounted => line(text, format_args!("counted since it was mounted, {seconds} s ago")),
        Basis::MountedAgain => line(
            text,
            format_args!(
                "counters went backwards: it was mounted again, or the snapshots are not in order; counted since the mount, {seconds} s ago"
            ),
        ),
        Basis::Gone => line(text, format_args!("in one snapshot only and in none after it: no difference")),
    }
    if report.is_gone && report.basis != Basis::Gone {
        line(text, format_args!("not in the last snapshot"));
    }
    if report.basis == Basis::Gone {
        return;
    }
    let rate = report.rate().map_or_else(String::new, |rate| format!(", {rate:.1} operations/s"));
    line(text, format_args!("{}{rate}", counted(report.count(), "operation")));
    if !report.operations.is_empty() {
        let titles = TITLES.map(|title| format!("{title:>NUMBER$} ")).concat();
        line(text, format_args!("{:NAME$}{}", "OPERATION", titles.trim_end()));
    }
    for kind in &report.operations {
        operation(text, kind);
    }
    bytes(text, report);
    events(text, report);
}

fn operation(text: &mut String, kind: &MountOperation) {
    let kilobytes = |bytes: f64| format!("{:.2}", bytes / 1000.0);
    let milliseconds = |value: f64| format!("{value:.2}");
    let columns = [
        kind.counters.operations.to_string(),
        percent(kind.share, 1),
        kilobytes(kind.mean(|counters| counters.bytes_sent)),
        kilobytes(kind.mean(|counters| counters.bytes_received)),
        kind.retransmissions().to_string(),
        milliseconds(kind.mean(|counters| counters.queue_ms)),
        milliseconds(kind.mean(|counters| counters.rtt_ms)),
        milliseconds(kind.mean(|counters| counters.execute_ms)),
        kind.counters.errors.map_or_else(|| "-".to_owned(), |errors| errors.to_string()),
    ];
    let columns = columns.map(|column| format!("{column:>NUMBER$} ")).concat();
    line(text, format_args!("{:NAME$}{}", kind.name, columns.trim_end()));
}

fn bytes(text: &mut String, report: &MountReport) {
    let bytes = &report.bytes;
    let show = |bytes: u64| show_size(bytes);
    line(
        text,
        format_args!(
            "read by programs {}, delivered by the server {}; written by programs {}, sent to the server {}",
            show(bytes.normal_read.saturating_add(bytes.direct_read)),
            show(bytes.server_read),
            show(bytes.normal_written.saturating_add(bytes.direct_written)),
            show(bytes.server_written)
        ),
    );
    if bytes.direct_read > 0 || bytes.direct_written > 0 {
        line(
            text,
            format_args!(
                "of these with O_DIRECT: read {}, written {}",
                show(bytes.direct_read),
                show(bytes.direct_written)
            ),
        );
    }
    match bytes.client_cache_share() {
        Some(share) => line(
            text,
            format_args!(
                "the cache of the client answered {} of the bytes read through it",
                percent(share, 1)
            ),
        ),
        None if bytes.normal_read > 0 => line(
            text,
            format_args!(
                "the server delivered more than programs read: read-ahead, or files that are mapped into memory"
            ),
        ),
        None => {}
    }
}

fn events(text: &mut String, report: &MountReport) {
    let events = &report.events;
    let rows = [
        (events.opens, "opens by programs"),
        (events.delays, "replies that ordered the client to wait (DELAY, JUKEBOX)"),
        (events.short_reads, "short reads"),
        (events.short_writes, "short writes"),
        (events.silly_renames, "open files that were removed, and renamed instead"),
    ];
    for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
        line(text, format_args!("{count:>NUMBER$} {what}"));
    }
}
