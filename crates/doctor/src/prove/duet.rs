//! Known answers K7 and K8 (docs/measurement-rules.md K7, K8): two servers in turns, the same or different by a little.

use std::time::Duration;

use sharebench_model::StepResult;
use sharebench_server::{DeviceRecord, ServiceTime};
use sharebench_stats::{Estimate, hodges_lehmann};

use crate::prove::rig::{Rig, executed_ns, flagged, mean_ns, median_ns, reading, run};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const WINDOW: Duration = Duration::from_millis(200);
const SERVICE: Duration = Duration::from_millis(1);
/// Pairs of windows in a duet, never fewer: the tolerances are those of so many.
const PAIRS: usize = 40;
/// Duets of one question.
const DUETS_SAME: usize = 20;
const DUETS_DIFFERENT: usize = 10;
/// How often a duet is played before it counts as too noisy.
const PLAYED: u32 = 3;

/// One duet: what was measured and what the servers executed, as ln(A/B).
struct Duet {
    rate: Estimate,
    median: Estimate,
    rate_truth: f64,
    median_truth: f64,
}

impl Duet {
    /// True when the interval says that A and B differ.
    fn found(&self) -> bool {
        self.rate.interval.is_some_and(|interval| !interval.contains(0.0))
    }
}

/// A window on one server, from both sides.
struct Seen {
    rate: f64,
    median: f64,
    executed: f64,
    executed_median: f64,
    mean: f64,
    quiet: bool,
}

/// K7: no difference where there is none.
pub(super) fn same(conditions: Conditions) -> Result<Attempt, ProveError> {
    let wanted = conditions.times(DUETS_SAME);
    let duets = match play(wanted, SERVICE)? {
        Ok(duets) => duets,
        Err(noise) => return Ok(Attempt { rows: Vec::new(), noise: Some(noise) }),
    };
    let allowed = if conditions.quick { 2 } else { 3 };
    let significant = duets.iter().filter(|duet| duet.found()).count();
    let largest = |of: fn(&Duet) -> f64| duets.iter().map(|duet| of(duet).abs()).fold(0.0, f64::max) * 100.0;
    let (rate, median) = (largest(|duet| duet.rate.value), largest(|duet| duet.median.value));
    Ok(vec![
        Row::new(
            format!("differences found in {wanted} duets"),
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

/// K8: small differences are found, and are as large as the servers made them.
pub(super) fn different(conditions: Conditions) -> Result<Attempt, ProveError> {
    let wanted = conditions.times(DUETS_DIFFERENT);
    let mut rows = Vec::new();
    for slower in [2u32, 5] {
        let service = SERVICE * (100 + slower) / 100;
        let duets = match play(wanted, service)? {
            Ok(duets) => duets,
            Err(noise) => return Ok(Attempt { rows, noise: Some(noise) }),
        };
        rows.extend(judge(slower, &duets));
    }
    Ok(rows.into())
}

fn judge(slower: u32, duets: &[Duet]) -> [Row; 3] {
    let found = duets.iter().filter(|duet| duet.found() && duet.rate.value > 0.0).count();
    let least = duets.len() - 1;
    let off = |duet: &Duet| (duet.rate.value - duet.rate_truth) * 100.0;
    let covers = |duet: &Duet| duet.rate.interval.is_some_and(|interval| interval.contains(duet.rate_truth));
    let misses: Vec<&Duet> = duets.iter().filter(|duet| off(duet).abs() > 1.0).collect();
    let forgiven = misses.len() <= 1 && misses.iter().all(|duet| off(duet).abs() <= 1.8 && covers(duet));
    let worst = duets.iter().map(off).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let median = duets.iter().map(|duet| (duet.median.value - duet.median_truth) * 100.0);
    let worst_median = median.fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let truth = |of: fn(&Duet) -> f64| {
        let sum: f64 = duets.iter().map(of).sum();
        format!("{:.2} pt as executed", sum * 100.0 / duets.len().max(1) as f64)
    };
    [
        Row::new(
            format!("{slower} % found"),
            duets.len().to_string(),
            found.to_string(),
            format!("at least {least}"),
            found >= least,
        ),
        Row::new(
            format!("{slower} %: rate off by"),
            truth(|duet| duet.rate_truth),
            format!("{worst:+.2} pt at worst"),
            "1.0 pt; one of 1.8 if covered",
            forgiven,
        ),
        Row::new(
            format!("{slower} %: p50 off by"),
            truth(|duet| duet.median_truth),
            format!("{worst_median:+.2} pt at worst"),
            "0.4 pt",
            worst_median.abs() <= 0.4,
        ),
    ]
}

/// Plays duets of a server of 1 ms and one of `service`; the inner error says why it was too noisy.
fn play(duets: usize, service: Duration) -> Result<Result<Vec<Duet>, String>, ProveError> {
    let mut played = Vec::with_capacity(duets);
    while played.len() < duets {
        let mut quiet = 0;
        let mut duet = None;
        for _ in 0..PLAYED {
            let seen = windows(service)?;
            quiet = seen.iter().filter(|(a, b)| a.quiet && b.quiet).count();
            duet = (quiet * 2 >= PAIRS).then(|| of(&seen)).flatten();
            if duet.is_some() {
                break;
            }
        }
        let Some(duet) = duet else {
            let number = played.len() + 1;
            return Ok(Err(format!(
                "in duet {number} of {duets} only {quiet} of {PAIRS} pairs of windows were quiet, {PLAYED} times"
            )));
        };
        played.push(duet);
    }
    Ok(Ok(played))
}

/// The windows of one duet in pairs (A, B).
fn windows(service: Duration) -> Result<Vec<(Seen, Seen)>, ProveError> {
    let rigs = [Rig::serving(ServiceTime::Fixed(SERVICE), 1)?, Rig::serving(ServiceTime::Fixed(service), 1)?];
    let steps = run(reading(WINDOW, PAIRS as u32)?, &[rigs[0].target(), rigs[1].target()])?;
    let [a, b] = [0, 1].map(|target| side(&steps, target as u32, &rigs[target].take_reads()));
    Ok(a.into_iter().zip(b).collect())
}

/// The windows of one server by repetition, each with the reads that the server logged in it.
fn side(steps: &[StepResult], target: u32, log: &[DeviceRecord]) -> Vec<Seen> {
    let mut log = log.iter();
    let mut seen: Vec<(u32, Seen)> = Vec::new();
    for step in steps.iter().filter(|step| step.target == target) {
        let measure = &step.measure;
        // One in flight, and nothing else reads: the log's next ones are this window's.
        let reads: Vec<u64> = log.by_ref().take(measure.operations as usize).map(executed_ns).collect();
        let window = Seen {
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

/// Estimates over the quiet pairs, beside the same estimate of what was executed.
fn of(pairs: &[(Seen, Seen)]) -> Option<Duet> {
    let quiet: Vec<&(Seen, Seen)> = pairs.iter().filter(|(a, b)| a.quiet && b.quiet).collect();
    let typical = |of: &dyn Fn(&Seen, &Seen) -> f64| {
        let ratios: Vec<f64> = quiet.iter().map(|(a, b)| of(a, b)).collect();
        hodges_lehmann(&ratios, 0.95)
    };
    // The way to the server and back, the same for both.
    let both = || quiet.iter().flat_map(|(a, b)| [a, b]);
    let count = both().count().max(1) as f64;
    let way = both().map(|seen| seen.mean - seen.executed).sum::<f64>() / count;
    let way_median = both().map(|seen| seen.median - seen.executed_median).sum::<f64>() / count;
    Some(Duet {
        rate: typical(&|a, b| (a.rate / b.rate).ln())?,
        median: typical(&|a, b| (b.median / a.median).ln())?,
        rate_truth: typical(&|a, b| ((b.executed + way) / (a.executed + way)).ln())?.value,
        median_truth: typical(&|a, b| {
            ((b.executed_median + way_median) / (a.executed_median + way_median)).ln()
        })?
        .value,
    })
}
