//! Known answers K7 and K8 (docs/measure/measurement-rules.md K7, K8): alternating windows on two servers that are equal or
//! differ slightly.

use std::time::Duration;

use sharebench_model::StepResult;
use sharebench_server::{DeviceRecord, ServiceTime};
use sharebench_stats::{Estimate, hodges_lehmann};

use crate::prove::fixture::{Fixture, executed_ns, flagged, mean_ns, median_ns, reading, run};
use crate::prove::{Attempt, Conditions, Protocol, ProveError, Row};

const WINDOW: Duration = Duration::from_millis(200);
const SERVICE: Duration = Duration::from_millis(1);
/// Pairs of windows in a comparison. A quick run keeps the number, because the tolerances depend on it.
const PAIRS: usize = 40;
/// Comparisons per experiment.
const COMPARISONS_EQUAL: usize = 20;
const COMPARISONS_DIFFERENT: usize = 10;
/// Attempts per comparison before the experiment is too noisy.
const ATTEMPTS: u32 = 3;

/// One paired comparison: measured estimates and true values, as ln(A/B).
struct PairedComparison {
    rate: Estimate,
    median: Estimate,
    rate_truth: f64,
    median_truth: f64,
}

impl PairedComparison {
    /// Returns true if the confidence interval excludes equality.
    fn found(&self) -> bool {
        self.rate.interval.is_some_and(|interval| !interval.contains(0.0))
    }
}

/// One window on one server, measured by the client and logged by the server.
struct WindowResult {
    rate: f64,
    median: f64,
    executed: f64,
    executed_median: f64,
    mean: f64,
    quiet: bool,
}

/// K7: equal servers show no difference.
pub(super) fn same(conditions: Conditions) -> Result<Attempt, ProveError> {
    let wanted = conditions.times(COMPARISONS_EQUAL);
    let comparisons = match compare(conditions.protocol, wanted, SERVICE)? {
        Ok(comparisons) => comparisons,
        Err(noise) => return Ok(Attempt { rows: Vec::new(), noise: Some(noise) }),
    };
    let allowed = if conditions.quick { 2 } else { 3 };
    let significant = comparisons.iter().filter(|comparison| comparison.found()).count();
    let largest = |of: fn(&PairedComparison) -> f64| {
        comparisons.iter().map(|comparison| of(comparison).abs()).fold(0.0, f64::max) * 100.0
    };
    let rate = largest(|comparison| comparison.rate.value);
    let median = largest(|comparison| comparison.median.value);
    Ok(vec![
        Row::new(
            format!("differences found in {wanted} comparisons"),
            "0",
            significant.to_string(),
            format!("at most {allowed}"),
            significant <= allowed,
        ),
        Row::new("largest difference in rate", "0 %", format!("{rate:.2} %"), "1.5 %", rate <= 1.5),
        Row::new("largest difference in p50", "0 %", format!("{median:.2} %"), "0.5 %", median <= 0.5),
    ]
    .into())
}

/// K8: small differences are found, with the size that the servers executed.
pub(super) fn different(conditions: Conditions) -> Result<Attempt, ProveError> {
    let wanted = conditions.times(COMPARISONS_DIFFERENT);
    let mut rows = Vec::new();
    for slower in [2u32, 5] {
        let service = SERVICE * (100 + slower) / 100;
        let comparisons = match compare(conditions.protocol, wanted, service)? {
            Ok(comparisons) => comparisons,
            Err(noise) => return Ok(Attempt { rows, noise: Some(noise) }),
        };
        rows.extend(judge(slower, &comparisons));
    }
    Ok(rows.into())
}

fn judge(slower: u32, comparisons: &[PairedComparison]) -> [Row; 3] {
    let found =
        comparisons.iter().filter(|comparison| comparison.found() && comparison.rate.value > 0.0).count();
    let min = comparisons.len() - 1;
    let off = |comparison: &PairedComparison| (comparison.rate.value - comparison.rate_truth) * 100.0;
    let covers = |comparison: &PairedComparison| {
        comparison.rate.interval.is_some_and(|interval| interval.contains(comparison.rate_truth))
    };
    let misses: Vec<&PairedComparison> =
        comparisons.iter().filter(|comparison| off(comparison).abs() > 1.0).collect();
    let forgiven = misses.len() <= 1
        && misses.iter().all(|comparison| off(comparison).abs() <= 1.8 && covers(comparison));
    let worst = comparisons.iter().map(off).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let median =
        comparisons.iter().map(|comparison| (comparison.median.value - comparison.median_truth) * 100.0);
    let worst_median = median.fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let truth = |of: fn(&PairedComparison) -> f64| {
        let sum: f64 = comparisons.iter().map(of).sum();
        format!("{:.2} pt as executed", sum * 100.0 / comparisons.len().max(1) as f64)
    };
    [
        Row::new(
            format!("{slower} % found"),
            comparisons.len().to_string(),
            found.to_string(),
            format!("at least {min}"),
            found >= min,
        ),
        Row::new(
            format!("{slower} %: rate off by"),
            truth(|comparison| comparison.rate_truth),
            format!("{worst:+.2} pt at worst"),
            "1.0 pt; one of 1.8 if covered",
            forgiven,
        ),
        Row::new(
            format!("{slower} %: p50 off by"),
            truth(|comparison| comparison.median_truth),
            format!("{worst_median:+.2} pt at worst"),
            "0.4 pt",
            worst_median.abs() <= 0.4,
        ),
    ]
}

/// Compares a server of 1 ms with one of `service`; the inner error is the reason if the machine was too noisy.
fn compare(
    protocol: Protocol,
    comparisons: usize,
    service: Duration,
) -> Result<Result<Vec<PairedComparison>, String>, ProveError> {
    let mut done = Vec::with_capacity(comparisons);
    while done.len() < comparisons {
        let mut quiet = 0;
        let mut comparison = None;
        for _ in 0..ATTEMPTS {
            let seen = windows(protocol, service)?;
            quiet = seen.iter().filter(|(a, b)| a.quiet && b.quiet).count();
            comparison = (quiet * 2 >= PAIRS).then(|| estimate(&seen)).flatten();
            if comparison.is_some() {
                break;
            }
        }
        let Some(comparison) = comparison else {
            let number = done.len() + 1;
            return Ok(Err(format!(
                "comparison {number} of {comparisons}: only {quiet} of {PAIRS} pairs of windows were quiet in {ATTEMPTS} attempts"
            )));
        };
        done.push(comparison);
    }
    Ok(Ok(done))
}

/// Measures the windows of one comparison and returns them in pairs (A, B).
fn windows(protocol: Protocol, service: Duration) -> Result<Vec<(WindowResult, WindowResult)>, ProveError> {
    let fixtures = [
        Fixture::serving(protocol, ServiceTime::Fixed(SERVICE), 1)?,
        Fixture::serving(protocol, ServiceTime::Fixed(service), 1)?,
    ];
    let steps = run(reading(WINDOW, PAIRS as u32)?, &[fixtures[0].target(), fixtures[1].target()])?;
    let [a, b] = [0, 1].map(|target| windows_of(&steps, target as u32, &fixtures[target].take_reads()));
    Ok(a.into_iter().zip(b).collect())
}

/// Returns the windows of one server by repetition, each with the reads that the server logged during it.
fn windows_of(steps: &[StepResult], target: u32, log: &[DeviceRecord]) -> Vec<WindowResult> {
    let mut log = log.iter();
    let mut seen: Vec<(u32, WindowResult)> = Vec::new();
    for step in steps.iter().filter(|step| step.target == target) {
        let measure = &step.measure;
        // With one request in flight and no other reader, the next entries of the log belong to this window.
        let reads: Vec<u64> = log.by_ref().take(measure.operations as usize).map(executed_ns).collect();
        let window = WindowResult {
            rate: measure.operation_rate().unwrap_or_default(),
            median: measure.service.quantile(0.5) as f64,
            executed: mean_ns(reads.iter().copied()),
            executed_median: median_ns(reads.iter().copied()) as f64,
            mean: measure.busy_ns as f64 / measure.operations.max(1) as f64,
            quiet: !flagged(step, "hiccups"),
        };
        seen.push((step.repetition, window));
    }
    seen.sort_by_key(|(repetition, _)| *repetition);
    seen.into_iter().map(|(_, window)| window).collect()
}

/// Estimates the differences over the quiet pairs, measured and executed.
fn estimate(pairs: &[(WindowResult, WindowResult)]) -> Option<PairedComparison> {
    let quiet: Vec<&(WindowResult, WindowResult)> =
        pairs.iter().filter(|(a, b)| a.quiet && b.quiet).collect();
    let typical = |of: &dyn Fn(&WindowResult, &WindowResult) -> f64| {
        let ratios: Vec<f64> = quiet.iter().map(|(a, b)| of(a, b)).collect();
        hodges_lehmann(&ratios, 0.95)
    };
    // The network path adds the same time for both servers.
    let both = || quiet.iter().flat_map(|(a, b)| [a, b]);
    let count = both().count().max(1) as f64;
    let path = both().map(|seen| seen.mean - seen.executed).sum::<f64>() / count;
    let path_median = both().map(|seen| seen.median - seen.executed_median).sum::<f64>() / count;
    Some(PairedComparison {
        rate: typical(&|a, b| (a.rate / b.rate).ln())?,
        median: typical(&|a, b| (b.median / a.median).ln())?,
        rate_truth: typical(&|a, b| ((b.executed + path) / (a.executed + path)).ln())?.value,
        median_truth: typical(&|a, b| {
            ((b.executed_median + path_median) / (a.executed_median + path_median)).ln()
        })?
        .value,
    })
}
