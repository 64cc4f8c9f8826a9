//! Numbers of an analysis as the short texts of table cells.

use std::collections::BTreeSet;

use sharebench_analysis::{
    Analysis, CheckSummary, Estimate, Outcome, Percentile, RateUnit, Ratio, System, show_factor,
};
use sharebench_model::units::{
    percent, show_instant, show_nanos, show_rate, show_size, three_digits, whole_percent,
};
use sharebench_model::{Facts, Verdict};

/// Shown where there is no value.
pub const NOTHING: &str = "-";

/// Share of the server's processors that was used, where it was measured.
pub fn server_cpu(outcome: &Outcome) -> String {
    let server = outcome.load.as_ref().and_then(|load| load.server.as_ref());
    server.map_or_else(|| NOTHING.to_owned(), |server| percent(server.cpu, 0))
}

/// A rate with half the width of its interval: `812 MB/s ±3 %`; without interval the number of repetitions.
pub fn rate(outcome: &Outcome, unit: RateUnit) -> String {
    let mark = if outcome.verdict == Verdict::Warning { WARNING } else { "" };
    let cached = if outcome.is_client_cached() { CACHED } else { "" };
    format!("{} {}{mark}{cached}", unit.show(outcome.rate.value), spread(&outcome.rate))
}

/// The mark of a rate with a warning.
pub const WARNING: &str = " !";
/// Meaning of the mark.
pub const WARNING_LEGEND: &str = "!: a self-check has a warning about a step of this cell.";
/// Why a ratio may differ from the quotient of the two rates next to it.
pub const QUOTIENT_LEGEND: &str = "A ratio is the typical ratio of repetitions that were measured next to each other, and a rate the \
    median of one system alone: where a rate varies with time, the quotient of two rates differs from the ratio. The ratio \
    compares.";
/// Meaning of the mark of ratios that are not resolved.
pub const NOT_RESOLVED_LEGEND: &str = "?: the ratio is not resolved.";
/// The mark of bytes that the client's cache served.
pub const CACHED: &str = " c";
/// Meaning of the mark.
pub const CACHED_LEGEND: &str =
    "c: served by the client's cache: 2 % or more of the bytes did not cross the wire.";

/// Share of the bytes that did not cross the wire; `-` where it is not counted.
pub fn cached(outcome: &Outcome) -> String {
    let Some(wire) = &*outcome.wire else { return NOTHING.to_owned() };
    if outcome.is_client_cached() {
        format!("{} %", whole_percent(wire.client_cache_share))
    } else {
        "no".to_owned()
    }
}

/// Requests on the wire per operation of a metadata test; `-` where they are not counted.
pub fn requests_per_operation(outcome: &Outcome) -> String {
    outcome.per_operation.requests_per_operation.map_or_else(|| NOTHING.to_owned(), three_digits)
}

/// Bytes on the wire per operation of a server-side test; `-` where they are not counted.
pub fn wire_bytes_per_operation(outcome: &Outcome) -> String {
    let shown = |bytes: f64| show_size(bytes.round() as u64);
    outcome.per_operation.wire_bytes_per_operation.map_or_else(|| NOTHING.to_owned(), shown)
}

/// Megabytes (1e6 bytes) per second as a number; `-` for tests that move no file data.
pub fn megabytes(outcome: &Outcome, unit: RateUnit) -> String {
    match unit {
        RateUnit::BytesPerSecond => three_digits(outcome.rate.value / 1e6),
        RateUnit::OperationsPerSecond => NOTHING.to_owned(),
    }
}

/// Bytes per second where they were measured.
pub fn bytes_per_s(rate: Option<f64>) -> String {
    rate.map_or_else(|| NOTHING.to_owned(), show_rate)
}

fn spread(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => plus_minus(interval.half_width() / estimate.value * 100.0),
        None => format!("(n={})", estimate.n),
    }
}

fn plus_minus(percent: f64) -> String {
    if percent < 0.95 { format!("±{percent:.1} %") } else { format!("±{percent:.0} %") }
}

/// The ratio of many cells with its interval: `1.12 [1.09, 1.15]`.
pub fn estimate(ratio: &Estimate) -> String {
    match ratio.interval {
        Some(i) => format!("{:.2} [{:.2}, {:.2}]", ratio.value, i.low, i.high),
        None => format!("{:.2} (n={})", ratio.value, ratio.n),
    }
}

/// A ratio with its interval: `1.12 [1.09, 1.15]`.
pub fn ratio(ratio: &Ratio) -> String {
    let mark = if ratio.client_cached { CACHED } else { "" };
    match ratio.typical.interval {
        Some(i) => {
            let bounds = format!("[{}, {}]", show_factor(i.low), show_factor(i.high));
            format!("{} {bounds}{mark}", show_factor(ratio.typical.value))
        }
        None if ratio.typical.value < 0.095 => {
            format!("1/{} (n={}){mark}", three_digits(1.0 / ratio.typical.value), ratio.typical.n)
        }
        None => format!("{} (n={}){mark}", three_digits(ratio.typical.value), ratio.typical.n),
    }
}

/// A mean response time; `-` where it is not known.
pub fn mean(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| NOTHING.to_owned(), show_nanos)
}

/// A percentile with half the width of its interval, or as a lower bound where it is not resolved; `-` where no times
/// are known.
pub fn percentile(percentile: Option<Percentile>) -> String {
    let Some(percentile) = percentile else { return NOTHING.to_owned() };
    let time = show_nanos(percentile.ns as f64);
    match percentile.interval {
        _ if !percentile.resolved => format!(">= {time}"),
        Some(interval) => {
            format!("{time} {}", plus_minus(interval.half_width() / percentile.ns as f64 * 100.0))
        }
        None => time,
    }
}

/// Client CPU of one operation: user + kernel; `-` where it was not counted.
pub fn cpu(outcome: &Outcome) -> String {
    let both = outcome.cpu.user_ns_per_operation.zip(outcome.cpu.kernel_ns_per_operation);
    both.map_or_else(
        || NOTHING.to_owned(),
        |(user, kernel)| format!("{} + {} us", three_digits(user / 1e3), three_digits(kernel / 1e3)),
    )
}

/// Client CPU of one megabyte (1e6 bytes).
pub fn cpu_per_megabyte(outcome: &Outcome) -> String {
    outcome
        .cpu
        .ns_per_byte
        .filter(|ns| *ns > 0.0)
        .map_or_else(|| NOTHING.to_owned(), |ns| show_nanos(ns * 1e6))
}

/// Transactions per second; `-` where they are not counted.
pub fn transactions(outcome: &Outcome) -> String {
    let rate = |rate| format!("{}/s", three_digits(rate));
    outcome.transactions_per_s.map_or_else(|| NOTHING.to_owned(), rate)
}

/// Operations of all repetitions; `-` where an imported source does not count them.
pub fn operations(outcome: &Outcome) -> String {
    if outcome.is_unknown(outcome.operations) { NOTHING.to_owned() } else { outcome.operations.to_string() }
}

/// Failures of all repetitions; `-` where an imported source does not count them.
pub fn failures(outcome: &Outcome) -> String {
    let failures = outcome.error_count();
    if outcome.is_unknown(failures) { NOTHING.to_owned() } else { failures.to_string() }
}

/// Users that reported of those assigned.
pub fn participation(outcome: &Outcome) -> String {
    if outcome.users_reported == outcome.users_assigned {
        outcome.users_reported.to_string()
    } else {
        format!("{} of {}", outcome.users_reported, outcome.users_assigned)
    }
}

/// Number of steps in which a check held, and in which it did not.
pub fn counts(check: &CheckSummary) -> String {
    let warnings = if check.warnings == 1 { "warning" } else { "warnings" };
    let counts = [
        (check.valid, "held"),
        (check.warnings, warnings),
        (check.invalid, "invalid"),
        (check.not_known, "not known"),
    ];
    let found = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
    found.collect::<Vec<_>>().join(", ")
}

/// An instant in UTC; `unknown` for 0, which imported runs without a start have.
pub fn instant(unix_ms: u64) -> String {
    if unix_ms == 0 { "unknown".to_owned() } else { show_instant(unix_ms) }
}

/// Memory of the machine of a run in bytes, where it was recorded: `16384256 kB`.
pub fn memory(environment: &Facts) -> Option<u64> {
    let kib = environment.get("memory")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    Some(kib * 1024)
}

/// The systems that the reported comparisons compare, in their order.
pub fn compared_systems(analysis: &Analysis) -> Vec<&System> {
    let pairs = analysis.reported.iter().map(|index| &analysis.comparisons[*index]);
    let compared: BTreeSet<usize> = pairs.flat_map(|pair| [pair.a, pair.b]).collect();
    compared.into_iter().map(|system| &analysis.systems[system]).collect()
}
