//! Guesses at the mechanism in words: every sentence says that it is a guess.

use sharebench_model::units::{percent, show_nanos, three_digits};
use sharebench_model::{Value, units::counted};

use crate::text::stages::Stages;
use crate::types::{Mechanism, MechanismGuess};

/// Such as `guess: a bandwidth cap: rates of nas in read level off at 112 MB/s (110 to 114 MB/s) over record sizes of 64KiB
/// to 1MiB (12 cells).`
pub(crate) fn guess(stages: &Stages<'_>, guess: &MechanismGuess) -> String {
    let section = &stages.estimated.sections[guess.section];
    let title = &section.title;
    let name = |system: usize| stages.aligned.systems[system].name.as_str();
    let system = name(guess.system);
    let cells = counted(guess.cells, "cell");
    let sizes = |(from, to): (u64, u64)| format!("{} to {}", Value::Bytes(from), Value::Bytes(to));
    match guess.mechanism {
        Mechanism::BandwidthCap { rate, range, records } => format!(
            "guess: a bandwidth cap: rates of {system} in {title} level off at {} ({}) over record sizes of {} ({cells}).",
            section.unit.show(rate),
            section.unit.show_range(range.0, range.1),
            sizes(records),
        ),
        Mechanism::RoundTrip { operations_per_s: (low, high), operation_ns, records } => format!(
            "guess: a round trip for each operation: {system} completes {} to {} operations/s in {title} over record \
             sizes of {} ({cells}), so that each takes about {} whatever its size.",
            three_digits(low),
            three_digits(high),
            sizes(records),
            show_nanos(operation_ns),
        ),
        Mechanism::DelayedAcknowledgement { share, share_below, median_ns } => format!(
            "guess: a delayed acknowledgement: {} of the operations of {system} in {title} take 38 to 46 ms, but only {} \
             take 19 to 38 ms; the median is {} ({cells}).",
            percent(share, 2),
            percent(share_below, 2),
            show_nanos(median_ns),
        ),
        Mechanism::SigningCpu { unsigned, cpu_ns_per_byte, ns_per_byte } => format!(
            "guess: the CPU time of signing: {system} needs {} ns of client CPU per byte more than {} without signing in \
             {title}, and {} ns per byte longer ({cells}).",
            three_digits(cpu_ns_per_byte),
            name(unsigned),
            three_digits(ns_per_byte),
        ),
        Mechanism::OneConnection { more, connections, ratios: (low, high) } => format!(
            "one connection was the limit: with {connections} connections {} is {} times as fast as {system} with one in \
             {title} ({cells}).",
            name(more),
            if low < high { format!("{low:.2} to {high:.2}") } else { format!("{low:.2}") },
        ),
    }
}
