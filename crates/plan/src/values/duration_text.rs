//! Durations in plan text.

use std::time::Duration;

/// A duration as plans write it: a whole number of the largest unit that divides it.
pub(crate) fn duration_text(value: Duration) -> String {
    let nanos = value.as_nanos();
    let (count, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(size, _)| nanos.is_multiple_of(*size))
        .map_or((nanos, "ns"), |(size, unit)| (nanos / size, unit));
    format!("{count}{unit}")
}
