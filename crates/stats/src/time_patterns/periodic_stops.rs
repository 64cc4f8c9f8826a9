//! Stops in equal intervals, and the others.

use super::stops::Stop;
use super::typical::Typical;
use super::{TimeOptions, TimePattern, TimePatternKind, TimedSample};
use crate::{Estimate, Interval, median_or_zero, normal_quantile};

/// Fewest stops whose intervals can be equal.
const FEWEST: usize = 4;
/// Candidate periods differ by this share.
const GRID: f64 = 0.004;
/// Stops agree with a period within this share of it, if they are known as well as that.
const AGREE: f64 = 0.03;
/// This share of the stops has to agree, and of the intervals between the first and the last to have one.
const MOST: f64 = 0.75;
const OCCUPIED: f64 = 0.6;
/// Largest probability of stops at random times to agree as well.
const CHANCE: f64 = 0.01;
/// An outage is reported from this length in seconds on at any cost; at a sufficient cost from the second length on.
const LONG_S: (f64, f64) = (1.0, 0.5);
/// So many outages are listed one by one.
const LISTED: usize = 3;

/// The stops as patterns: those in equal intervals as one, long ones individually, and the rest as one.
pub(super) fn divided(
    samples: &[TimedSample],
    typical: &Typical,
    stops: &[Stop],
    busy_s: f64,
    options: TimeOptions,
) -> Vec<TimePattern> {
    let mut patterns = Vec::new();
    let mut others: Vec<Stop> = stops.to_vec();
    let pattern = |kind, stops: &[Stop]| described(kind, stops, busy_s, samples.len(), options.level);
    if let Some((period_s, agrees)) = period(stops) {
        let own = |wanted: bool| {
            stops.iter().zip(&agrees).filter(move |(_, agrees)| **agrees == wanted).map(|(stop, _)| *stop)
        };
        let periodic: Vec<Stop> = own(true).collect();
        let found = TimePattern {
            period_s: Some(period_s),
            ..pattern(TimePatternKind::PeriodicStall, &periodic)
        };
        if found.cost.value >= options.least_cost {
            patterns.push(found);
        }
        others = own(false).collect();
    }
    others.sort_by(|a, b| b.cost_s.total_cmp(&a.cost_s));
    let is_long = |stop: &Stop| {
        let share = stop.cost_s / busy_s;
        stop.cost_s >= LONG_S.0 || (stop.cost_s >= LONG_S.1 && share >= options.least_cost)
    };
    let long = others.iter().take_while(|stop| is_long(stop)).count();
    let listed = if long > LISTED { 0 } else { long };
    patterns.extend(others[..listed].iter().map(|stop| pattern(TimePatternKind::Outage, &[*stop])));
    let mut rest = others.split_off(listed);
    rest.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    if !rest.is_empty() {
        let found = pattern(TimePatternKind::Outage, &rest);
        if found.cost.value >= options.least_cost || long > LISTED {
            patterns.push(found);
        }
    }
    let _ = typical;
    patterns
}

fn described(
    kind: TimePatternKind,
    stops: &[Stop],
    busy_s: f64,
    n: usize,
    level: f64,
) -> TimePattern {
    let sum = |of: fn(&Stop) -> f64| stops.iter().map(of).sum::<f64>();
    let count = stops.len().max(1) as f64;
    let cost = sum(|stop| stop.cost_s) / busy_s;
    let error = stops.iter().map(|stop| stop.cost_error_s.powi(2)).sum::<f64>().sqrt() / busy_s;
    let half = normal_quantile(f64::midpoint(1.0, level)) * error;
    TimePattern {
        kind,
        start_s: stops.first().map_or(0.0, |stop| stop.start_s),
        start_error_s: stops.first().map_or(0.0, |stop| stop.start_error_s),
        start_bytes: 0.0,
        length_s: sum(|stop| stop.length_s) / count,
        period_s: None,
        occurrences: stops.len(),
        is_open: stops.len() == 1 && stops[0].is_last,
        speed: sum(|stop| stop.speed) / count,
        cost: Estimate { value: cost, interval: Some(Interval::new((cost - half).max(0.0), cost + half)), n },
    }
}

/// The period of stops in equal intervals, and which of them agree with it.
fn period(stops: &[Stop]) -> Option<(f64, Vec<bool>)> {
    if stops.len() < FEWEST {
        return None;
    }
    let starts: Vec<f64> = stops.iter().map(|stop| stop.start_s).collect();
    let known = median_or_zero(&stops.iter().map(|stop| stop.start_error_s).collect::<Vec<f64>>());
    let lengths: Vec<f64> = stops.iter().map(|stop| stop.length_s).collect();
    let span = starts[starts.len() - 1] - starts[0];
    let shortest = (1.5 * median_or_zero(&lengths)).max(4.0 * known).max(span / 1000.0);
    let longest = span / (FEWEST - 1) as f64 * 1.05;
    let mut best: Option<(usize, f64, Vec<bool>)> = None;
    let mut candidates = 0;
    let mut period = longest;
    while period > shortest && period > 0.0 {
        candidates += 1;
        let width = width(period, known);
        let agrees = agreeing(&starts, period, width);
        let count = agrees.iter().filter(|agrees| **agrees).count();
        // From the longest period down: a fraction of a period agrees with as many stops.
        if best.as_ref().is_none_or(|(most, ..)| count > *most) {
            best = Some((count, period, agrees));
        }
        period *= 1.0 - GRID;
    }
    let (count, period, agrees) = best?;
    let n = starts.len();
    let cycles = (span / period).round() + 1.0;
    let share = (2.0 * width(period, known) / period).min(1.0);
    let chance = binomial_tail(n - 1, count - 1, share) * candidates as f64 * n as f64;
    let enough = count >= FEWEST && count as f64 >= MOST * n as f64 && count as f64 >= OCCUPIED * cycles;
    (enough && chance <= CHANCE).then(|| (refined(&starts, &agrees, period), agrees))
}

fn width(period: f64, known: f64) -> f64 {
    (AGREE * period).max(known).min(period / 4.0)
}

/// Which instants agree with the phase that most of them have.
fn agreeing(starts: &[f64], period: f64, width: f64) -> Vec<bool> {
    let distance = |a: f64, b: f64| ((a - b) / period - ((a - b) / period).round()).abs() * period;
    let near = |phase: f64| starts.iter().map(move |start| distance(*start, phase) <= width).collect();
    let mut best: Vec<bool> = Vec::new();
    let mut most = 0;
    for phase in starts {
        let agrees: Vec<bool> = near(*phase);
        let count = agrees.iter().filter(|agrees| **agrees).count();
        if count > most {
            (best, most) = (agrees, count);
        }
    }
    best
}

/// The period by least squares on the numbers of the intervals.
fn refined(starts: &[f64], agrees: &[bool], period: f64) -> f64 {
    let own: Vec<f64> =
        starts.iter().zip(agrees).filter(|(_, agrees)| **agrees).map(|(start, _)| *start).collect();
    let numbers: Vec<f64> = own.iter().map(|start| ((start - own[0]) / period).round()).collect();
    let n = own.len() as f64;
    let (mean, middle) = (numbers.iter().sum::<f64>() / n, own.iter().sum::<f64>() / n);
    let across: f64 = numbers.iter().zip(&own).map(|(k, start)| (k - mean) * (start - middle)).sum();
    let along: f64 = numbers.iter().map(|k| (k - mean).powi(2)).sum();
    if along > 0.0 { across / along } else { period }
}

/// Probability of at least `least` of `n`, each with probability `p`.
fn binomial_tail(n: usize, least: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(n as i32);
    if term == 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    for k in 0..=n {
        if k >= least {
            sum += term;
        }
        term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    sum.min(1.0)
}
