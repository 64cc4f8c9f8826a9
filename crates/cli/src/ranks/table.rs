//! What each rank did in a run, in a few lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sharebench_model::units::{show_nanos, show_rate};
use sharebench_model::{Histogram, RankShare, StepResult};

/// Most ranks that are shown one by one.
const SHOWN: usize = 64;
/// Most machines that are named.
const NAMED: usize = 8;

/// One rank over all steps.
#[derive(Default)]
struct Sum {
    host: String,
    motors: u32,
    bytes: u64,
    nanos: u64,
    operations: u64,
    errors: u64,
    late_ns: u64,
    response: Histogram,
}

/// A table of ranks over all steps of a run, and how far apart they started; nothing for runs of one rank.
pub fn lines(steps: &[StepResult]) -> Vec<String> {
    let skews: Vec<u64> =
        steps.iter().filter_map(|step| RankShare::start_skew_ns(&step.measure.ranks)).collect();
    let Some(most) = skews.iter().max() else { return Vec::new() };
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for (step, share) in
        steps.iter().flat_map(|step| step.measure.ranks.iter().map(move |share| (step, share)))
    {
        let sum = sums.entry(share.rank).or_default();
        sum.host.clone_from(&share.host);
        sum.motors = sum.motors.max(share.motors);
        sum.bytes += share.bytes.total();
        sum.nanos += step.measure.base_ns();
        sum.operations += share.operations;
        sum.errors += share.errors;
        sum.late_ns = sum.late_ns.max(share.late_ns);
        sum.response.merge(&share.response);
    }
    let width = sums.values().map(|sum| sum.host.len()).max().unwrap_or(0).max(4);
    let title = format!(
        "{:>5}  {:<width$}  {:>6}  {:>12}  {:>12}  {:>10}  {:>10}  {:>6}  {:>10}",
        "rank", "host", "motors", "rate", "operations", "p50", "p99", "errors", "latest"
    );
    let mut lines = vec![String::new(), title];
    for (rank, sum) in sums.iter().take(SHOWN) {
        let mut line = format!("{rank:>5}  {:<width$}  {:>6}", sum.host, sum.motors);
        let rate = if sum.nanos == 0 { 0.0 } else { sum.bytes as f64 * 1e9 / sum.nanos as f64 };
        let times = [0.5, 0.99].map(|quantile| show_nanos(sum.response.quantile(quantile) as f64));
        let late = show_nanos(sum.late_ns as f64);
        // Writing to a String cannot fail.
        let _ = write!(
            line,
            "  {:>12}  {:>12}  {:>10}  {:>10}  {:>6}  {late:>10}",
            show_rate(rate),
            sum.operations,
            times[0],
            times[1],
            sum.errors
        );
        lines.push(line);
    }
    if sums.len() > SHOWN {
        lines
            .push(format!("and {} more; `sharebench export --format json` has them all", sums.len() - SHOWN));
    }
    let errors = steps.iter().flat_map(|step| &step.measure.ranks).map(|share| share.clock_error_ns);
    lines.push(format!(
        "start skew: at most {} over {} steps (clocks known to ±{})",
        show_nanos(*most as f64),
        skews.len(),
        show_nanos(errors.max().unwrap_or(0) as f64)
    ));
    lines
}

/// Names of machines, each once.
pub fn hosts(names: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let more = counts.len().saturating_sub(NAMED);
    let show = |(name, count): (&&str, &usize)| {
        if *count == 1 { (*name).to_owned() } else { format!("{name} ({count})") }
    };
    let named = counts.iter().take(NAMED).map(show).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::{Coordinates, IoBytes, Measure, RateBase};

    fn step(late: u64) -> StepResult {
        let share = |rank, late_ns| RankShare {
            rank,
            host: format!("c{rank}"),
            motors: 3,
            bytes: IoBytes { read: 5_000_000, written: 0 },
            late_ns,
            clock_error_ns: 20_000,
            ..RankShare::default()
        };
        let ranks = vec![share(0, 0), share(1, late)];
        let measure =
            Measure { window_ns: 1_000_000_000, rate_base: RateBase::Window, ranks, ..Measure::default() };
        StepResult {
            index: 0,
            target: 0,
            repetition: 0,
            coordinates: Coordinates::new(),
            started_unix_ms: 0,
            measure,
            checks: Vec::new(),
        }
    }

    #[test]
    fn every_rank_has_a_line_and_the_worst_skew_is_told() {
        let lines = lines(&[step(300_000), step(1_200_000)]);
        assert_eq!(lines.len(), 5);
        assert!(lines[3].contains("c1") && lines[3].contains("5.00 MB/s"), "{}", lines[3]);
        assert!(lines[4].starts_with("start skew: at most 1.20 ms over 2 steps"), "{}", lines[4]);
        assert!(super::lines(&[]).is_empty());
    }

    #[test]
    fn machines_are_named_once() {
        let names: Vec<String> = ["a", "b", "a"].map(str::to_owned).to_vec();
        assert_eq!(hosts(&names), "a (2), b");
    }
}
