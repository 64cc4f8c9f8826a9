//! Stops in equal intervals, and the others.

use super::stops::Stop;
use super::{TimeOptions, TimePattern, TimePatternKind};
use crate::{Estimate, Interval, median_or_zero, normal_quantile};

/// Fewest stops whose intervals can be equal.
const FEWEST: usize = 4;
/// Candidate periods come from the first of the stops, and are followed from some of them.
const EARLY: usize = 24;
const ANCHORS: usize = 4;
/// Stops agree with a period within this share of it, if they are known as well as that. Where slow work hides the start of
/// stops, they are known less well: the second share is for those.
const AGREE: [f64; 2] = [0.03, 0.125];
/// This share of the stops has to agree. Of the intervals between the first and the last, this share of what the system was
/// measured for has to have one: what happens while it has no turn is not seen.
const MOST: f64 = 0.75;
const OCCUPIED: f64 = 0.6;
/// Up to this many times the middle cost, a stop may be one of the period: what costs more is an outage, whenever it begins.
const LIKE: f64 = 2.0;
/// Largest probability of stops at random times to agree as well.
const CHANCE: f64 = 0.01;
/// An outage is reported from this length in seconds on at any cost; at a sufficient cost from the second length on.
const LONG_S: (f64, f64) = (1.0, 0.5);
/// Up to this number of outages are listed one by one.
const LISTED: usize = 3;

/// The stops as patterns: those in equal intervals as one, long ones individually, and the rest as one.
pub(super) fn divided(
    samples: usize,
    stops: &[Stop],
    busy_s: f64,
    span_s: f64,
    options: TimeOptions,
) -> Vec<TimePattern> {
    let mut patterns = Vec::new();
    let mut others: Vec<Stop> = stops.to_vec();
    let pattern = |kind, stops: &[Stop]| described(kind, stops, busy_s, samples, options.level);
    if let Some((period_s, agrees)) = most_agreeing(stops, busy_s / span_s.max(1e-9)) {
        let own = |wanted: bool| {
            stops.iter().zip(&agrees).filter(move |(_, agrees)| **agrees == wanted).map(|(stop, _)| *stop)
        };
        let periodic: Vec<Stop> = own(true).collect();
        let found =
            TimePattern { period_s: Some(period_s), ..pattern(TimePatternKind::PeriodicStall, &periodic) };
        patterns.push(found);
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
    patterns
}

fn described(kind: TimePatternKind, stops: &[Stop], busy_s: f64, n: usize, level: f64) -> TimePattern {
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

/// The period of most stops, and which of them agree with it. `measured` is the share of the time in which the system worked.
fn most_agreeing(stops: &[Stop], measured: f64) -> Option<(f64, Vec<bool>)> {
    let count = |found: &(f64, Vec<bool>)| found.1.iter().filter(|agrees| **agrees).count();
    // The narrow tolerance comes last: of equal counts it is taken.
    let (period_s, agrees) =
        AGREE.into_iter().rev().filter_map(|agree| period(stops, measured, agree)).max_by_key(count)?;
    let touched = touched(stops, &agrees, period_s);
    Some((period_s, agrees.iter().zip(touched).map(|(agrees, touched)| *agrees || touched).collect()))
}

/// Which stops a stall of the period touches: they may have begun while it lasted. A target that has no turn when a stall begins
/// stops later and for a shorter time.
fn touched(stops: &[Stop], agrees: &[bool], period_s: f64) -> Vec<bool> {
    let own: Vec<Stop> =
        stops.iter().zip(agrees).filter(|(_, agrees)| **agrees).map(|(stop, _)| *stop).collect();
    let middle = |of: &dyn Fn(&Stop) -> f64| median_or_zero(&own.iter().map(of).collect::<Vec<f64>>());
    let anchor = own.first().map_or(0.0, |stop| stop.start_s);
    let offset = |stop: &Stop| {
        let cycles = (stop.start_s - anchor) / period_s;
        (cycles - cycles.round()) * period_s
    };
    let phase = middle(&offset);
    let length_s = middle(&|stop| stop.length_s);
    let cost_s = middle(&|stop| stop.cost_s);
    let error_s = middle(&|stop| stop.start_error_s);
    let is_touched = |stop: &Stop| {
        let late = (offset(stop) - phase).rem_euclid(period_s);
        let slack_s = stop.start_error_s + error_s;
        let is_near = late <= length_s + slack_s || period_s - late <= slack_s;
        is_near && stop.cost_s <= LIKE * cost_s
    };
    stops.iter().map(is_touched).collect()
}

/// The period of stops in equal intervals, and which of them agree with it.
fn period(stops: &[Stop], measured: f64, agree: f64) -> Option<(f64, Vec<bool>)> {
    if stops.len() < FEWEST {
        return None;
    }
    let starts: Vec<f64> = stops.iter().map(|stop| stop.start_s).collect();
    let errors: Vec<f64> = stops.iter().map(|stop| stop.start_error_s).collect();
    let tolerance = Tolerance { share: agree, least_s: 1.5 * median_or_zero(&errors), errors: &errors };
    let lengths: Vec<f64> = stops.iter().map(|stop| stop.length_s).collect();
    let shortest = (1.5 * median_or_zero(&lengths)).max(4.0 * tolerance.least_s);
    let candidates = candidates(&starts, shortest, agree);
    let mut best: Option<(usize, f64, Vec<bool>)> = None;
    for period in &candidates {
        for anchor in 0..starts.len().min(ANCHORS) {
            let (refined, agrees) = followed(&starts, anchor, *period, tolerance);
            let count = agrees.iter().filter(|agrees| **agrees).count();
            // From the longest period down: a fraction of a period agrees with as many stops.
            if best.as_ref().is_none_or(|(most, ..)| count > *most) && refined > shortest {
                best = Some((count, refined, agrees));
            }
        }
    }
    let (count, period, agrees) = best?;
    let n = starts.len();
    let cycles = ((starts[n - 1] - starts[0]) / period).round() + 1.0;
    let widths: f64 = (0..n).map(|index| tolerance.at(index, period)).sum();
    let share = (2.0 * widths / n as f64 / period).min(1.0);
    let chance = binomial_tail(n - 1, count - 1, share) * (candidates.len() * ANCHORS) as f64;
    let enough = count >= FEWEST
        && count as f64 >= MOST * n as f64
        && count as f64 >= OCCUPIED * measured.min(1.0) * cycles;
    (enough && chance <= CHANCE).then_some((period, agrees))
}

/// The distances between stops that follow each other, and between every second, in falling order without near duplicates.
fn candidates(starts: &[f64], shortest: f64, agree: f64) -> Vec<f64> {
    let early = &starts[..starts.len().min(EARLY)];
    let next = early.windows(2).map(|pair| pair[1] - pair[0]);
    let second = early.windows(3).map(|three| three[2] - three[0]);
    let mut all: Vec<f64> = next.chain(second).filter(|distance| *distance > shortest).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all.dedup_by(|a, b| *b - *a < agree / 4.0 * *b);
    all
}

/// How far a stop may be from the instant that a period gives it.
#[derive(Clone, Copy)]
struct Tolerance<'a> {
    /// As a share of the period.
    share: f64,
    /// At least this, in seconds.
    least_s: f64,
    /// How well the start of each stop is known, in seconds.
    errors: &'a [f64],
}

impl Tolerance<'_> {
    /// How far this stop may be from it.
    fn at(self, index: usize, period: f64) -> f64 {
        self.width(period).max(self.errors[index]).min(period / 4.0)
    }

    fn width(self, period: f64) -> f64 {
        (self.share * period).max(self.least_s).min(period / 4.0)
    }
}

/// Follows a period from one stop on, and corrects it with each stop that agrees; also which stops agree with the result.
fn followed(starts: &[f64], anchor: usize, period: f64, tolerance: Tolerance<'_>) -> (f64, Vec<bool>) {
    let mut agrees = vec![false; starts.len()];
    agrees[anchor] = true;
    let mut refined_period = period;
    let mut last = starts[anchor];
    for (index, start) in starts.iter().enumerate().skip(anchor + 1) {
        let cycles = (start - last) / refined_period;
        let off = (cycles - cycles.round()).abs() * refined_period;
        if cycles.round() >= 1.0 && off <= 2.0 * tolerance.at(index, refined_period) {
            agrees[index] = true;
            last = *start;
            refined_period = refined(starts, &agrees, refined_period);
        }
    }
    // All stops, those before the first one too, against the phase of the result.
    let own: Vec<f64> =
        starts.iter().zip(&agrees).filter(|(_, agrees)| **agrees).map(|(start, _)| *start).collect();
    let offset = |start: f64| {
        let cycles = (start - starts[anchor]) / refined_period;
        (cycles - cycles.round()) * refined_period
    };
    let phase = median_or_zero(&own.iter().map(|start| offset(*start)).collect::<Vec<f64>>());
    let near =
        |(index, start): (usize, &f64)| (offset(*start) - phase).abs() <= tolerance.at(index, refined_period);
    (refined_period, starts.iter().enumerate().map(near).collect())
}

/// The period by least squares on the numbers of the intervals.
fn refined(starts: &[f64], agrees: &[bool], period: f64) -> f64 {
    let own: Vec<f64> =
        starts.iter().zip(agrees).filter(|(_, agrees)| **agrees).map(|(start, _)| *start).collect();
    let numbers: Vec<f64> = own.iter().map(|start| ((start - own[0]) / period).round()).collect();
    let n = own.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let middle = own.iter().sum::<f64>() / n;
    let across: f64 = numbers.iter().zip(&own).map(|(k, start)| (k - mean) * (start - middle)).sum();
    let along: f64 = numbers.iter().map(|k| (k - mean).powi(2)).sum();
    if along > 0.0 { across / along } else { period }
}

/// Probability of at least `least` of `n`, each with probability `p`.
fn binomial_tail(n: usize, least: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(n as f64);
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
