//! Patterns over time in what one system delivered: outages, periodic stalls, alternating speeds, changes of level, drift.
//!
//! A cell compares repetitions with each other and does not see when they were measured. Here the samples of all cells
//! are one series over wall-clock time: each is compared with the typical rate of its own cell, and what remains is
//! examined for structure in time.
//!
//! 1. *Stops* are samples with less than 40 % of their cell's typical rate, far beyond the scatter of the cell, and samples
//!    that lost most of their time in one operation. Stops in equal intervals are periodic stalls; the others are outages.
//! 2. The logarithms of the other rates, centred per cell, are explained by at most four shapes, the best first: a
//!    straight line (drift), a segment of another level (the scan of an epidemic change: Siegmund, Ann. Statist. 16
//!    (1988) 1), and a square wave. The period of the wave comes from the periodogram of unevenly spaced samples (Lomb,
//!    Astrophys. Space Sci. 39 (1976) 447; Scargle, Astrophys. J. 263 (1982) 835), its edges from box least squares
//!    (Kovacs, Zucker, Mazeh, Astron. Astrophys. 391 (2002) 369).
//! 3. A shape counts if chance explains it with at most the given probability. Noise that is correlated over time is
//!    taken from what no shape explains, and divides the statistics.
//!
//! The cost of a pattern is the time that it took, as a share of the busy time of all samples: the same share of the
//! total work would have been done in that time.

mod explained;
mod fitted;
mod noise;
mod pattern;
mod periodic_stops;
mod sample;
mod segment;
mod shape;
mod square_wave;
mod stops;
mod typical;

use explained::{Explanation, explain};
use pattern::SAME_PERIOD;
pub use pattern::{TimeOptions, TimePattern, TimePatternKind, TimePatterns};
use periodic_stops::divided;
pub use sample::TimedSample;
use stops::stops;
use typical::Typical;

/// Fewest samples, and the shortest time in seconds, in which anything but a stop can be recognised.
const SHORTEST: (usize, f64) = (40, 5.0);

/// The patterns in the samples of one system, in any order. A run may have a hundred thousand of them, so they are not copied.
pub fn time_patterns<'a>(
    samples: impl IntoIterator<Item = &'a TimedSample>,
    options: TimeOptions,
) -> TimePatterns {
    let is_usable = |s: &&TimedSample| s.busy_s > 0.0 && s.start_s.is_finite() && s.work >= 0.0;
    let mut samples: Vec<&TimedSample> = samples.into_iter().filter(is_usable).collect();
    samples.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return TimePatterns { is_too_short: true, ..TimePatterns::default() };
    };
    let span_s = last.end_s() - first.start_s;
    let levels = vec![0.0; samples.len()];
    let (mut patterns, mut explanation) = examined(&samples, &levels, span_s, options);
    if let Some(found) = explanation.take_if(|found| found.has_levels()) {
        let levels: Vec<f64> = samples.iter().map(|sample| found.level(sample)).collect();
        (patterns, explanation) = examined(&samples, &levels, span_s, options);
    }
    let is_too_short = explanation.is_none();
    for pattern in explanation.map_or_else(Vec::new, |found| found.patterns) {
        merge(&mut patterns, pattern);
    }
    patterns.retain(|pattern| pattern.cost.value >= options.least_cost || is_outage(pattern));
    for pattern in &mut patterns {
        pattern.start_bytes =
            samples.iter().filter(|s| s.start_s < pattern.start_s).map(|sample| sample.bytes).sum();
    }
    patterns.sort_by(|a, b| b.cost.value.total_cmp(&a.cost.value));
    TimePatterns { patterns, span_s, is_too_short }
}

/// The stops in samples whose levels are known, and what explains the other samples; none if these are too few.
fn examined(
    samples: &[&TimedSample],
    levels: &[f64],
    span_s: f64,
    options: TimeOptions,
) -> (Vec<TimePattern>, Option<Explanation>) {
    let typical = Typical::new(samples, levels);
    let busy_s = samples.iter().map(|sample| sample.busy_s).sum();
    let (found, is_stop) = stops(samples, levels, &typical);
    let stops = divided(samples.len(), &found, busy_s, span_s, options);
    let moving: Vec<&TimedSample> = samples
        .iter()
        .zip(&is_stop)
        .filter(|(sample, stop)| !**stop && sample.work > 0.0 && typical.is_known(sample))
        .map(|(sample, _)| *sample)
        .collect();
    let is_long = moving.len() >= SHORTEST.0 && span_s >= SHORTEST.1;
    let periods: Vec<f64> = stops.iter().filter_map(|stop| stop.period_s).collect();
    let explained = is_long.then(|| explain(&moving, &typical, busy_s, &periods, options));
    (stops, explained)
}

fn is_outage(pattern: &TimePattern) -> bool {
    pattern.kind == TimePatternKind::Outage
}

/// Adds a pattern of slow samples. Stalls that did not stop all work in some of their periods are found as stops and as slow
/// parts of the same period: both are one pattern.
fn merge(patterns: &mut Vec<TimePattern>, slow: TimePattern) {
    let same = |a: f64, b: f64| (a / b - 1.0).abs() <= SAME_PERIOD;
    let stalls = patterns
        .iter_mut()
        .find(|stops| stops.period_s.zip(slow.period_s).is_some_and(|(stops, slow)| same(stops, slow)));
    let Some(stalls) = stalls else {
        patterns.push(slow);
        return;
    };
    let [a, b] = [stalls.cost, slow.cost].map(|cost| cost.interval.map_or(0.0, crate::Interval::half_width));
    let value = stalls.cost.value + slow.cost.value;
    let half = a.hypot(b);
    stalls.cost.value = value;
    stalls.cost.interval = Some(crate::Interval::new((value - half).max(0.0), value + half));
    stalls.start_s = stalls.start_s.min(slow.start_s);
    stalls.occurrences = stalls.occurrences.max(slow.occurrences);
    stalls.length_s = stalls.length_s.max(slow.length_s);
}
