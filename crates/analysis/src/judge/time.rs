//! What changed over time in each system, what it cost, and whether another system changed with it.

use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::{Estimate, TimeOptions, TimePattern, TimePatternKind, TimedSample, time_patterns};

use crate::align::Aligned;
use crate::judge::step_extents::StepExtents;
use crate::judge::time_samples::{StepSample, samples};
use crate::judge::unmeasured_outages::{UnmeasuredOutage, unmeasured_outages};
use crate::types::{
    LeftOut, Options, TimeFinding, TimeFindingKind, TimeFindings, TimeOrigin, TotalWorkEffect,
};

/// Largest probability of any finding in a system that does not change: two of them, and 1 % of runs.
const ERROR: f64 = 0.004;
/// The header of a run that begins before the first step by more than this (milliseconds) says nothing of it.
const MAX_PREPARATION_MS: u64 = 24 * 3_600_000;
/// A system was measured meanwhile if it worked for this share of the slow part.
const MEANWHILE: f64 = 0.1;
/// Starts within this many seconds, or this share of the length, and periods within this share, are the same.
const SAME: (f64, f64) = (1.0, 0.05);
/// This number of slow parts meets one system alone by chance in less than 1 of 20 cases, if both work for half of the time.
const NEVER_BY_CHANCE: usize = 5;

/// Fewer samples (a table of single runs) let nobody expect findings over time.
const EXPECTED: usize = 20;

/// One system over time.
struct SystemTime<'a> {
    system: usize,
    samples: Vec<StepSample<'a>>,
    patterns: Vec<TimePattern>,
    unmeasured: Vec<UnmeasuredOutage<'a>>,
    is_too_short: bool,
}

/// The findings of all systems that were measured here.
pub(crate) fn time_findings(aligned: &Aligned<'_>, options: &Options) -> TimeFindings {
    let mut found = TimeFindings::default();
    for run in 0..aligned.runs.len() {
        let systems = of_run(aligned, run, options);
        for (index, system) in systems.iter().enumerate() {
            let others =
                || systems.iter().enumerate().filter(move |(other, _)| *other != index).map(|(_, o)| o);
            if system.is_too_short && system.samples.len() >= EXPECTED {
                found.too_short.push(system.system);
            }
            let of_system = system.patterns.iter().map(|pattern| {
                let origin = origin(pattern, system, &others().collect::<Vec<_>>());
                finding(
                    pattern,
                    origin,
                    system,
                    &effects(pattern, origin, system, &others().collect::<Vec<_>>()),
                )
            });
            found.findings.extend(of_system);
            // What no window includes affects no comparison.
            let unmeasured = system.unmeasured.iter().map(|(pattern, step)| TimeFinding {
                coordinates: Some(step.coordinates.clone()),
                is_unmeasured: true,
                ..finding(pattern, origin(pattern, system, &others().collect::<Vec<_>>()), system, &[])
            });
            found.findings.extend(unmeasured);
            found.findings.extend(left_out(system, &aligned.left_out, options));
        }
    }
    found
}

fn of_run<'a>(aligned: &Aligned<'a>, run: usize, options: &Options) -> Vec<SystemTime<'a>> {
    let data = &aligned.runs[run];
    if data.header.is_imported() {
        return Vec::new();
    }
    let extents = StepExtents::new(&data.steps);
    let Some(first) = extents.first_ms() else { return Vec::new() };
    let begun = data.header.started_unix_ms;
    let is_near = begun <= first && first - begun <= MAX_PREPARATION_MS;
    let origin_ms = if is_near { begun } else { first };
    let own = aligned.systems.iter().enumerate().filter(|(_, system)| system.run == run);
    let sampled: Vec<(usize, Vec<StepSample<'_>>, Vec<UnmeasuredOutage<'_>>)> = own
        .map(|(index, system)| {
            let mut steps: Vec<&StepResult> = data
                .steps
                .iter()
                .filter(|step| system.owns(run, step) && !step.measure.is_reported())
                .collect();
            steps.sort_unstable_by_key(|step| (step.started_unix_ms, step.index));
            let mut samples = samples(&steps, origin_ms, &extents);
            samples.sort_by(|a, b| a.sample.start_s.total_cmp(&b.sample.start_s));
            (index, samples, unmeasured_outages(&steps, origin_ms, &extents))
        })
        .filter(|(_, samples, _)| !samples.is_empty())
        .collect();
    drop(extents);
    let examined = sampled.into_iter().map(|(system, samples, unmeasured)| {
        let wanted = TimeOptions { error: ERROR, level: options.level, least_cost: options.tolerance };
        let found = time_patterns(samples.iter().map(|sample| &sample.sample), wanted);
        SystemTime { system, samples, patterns: found.patterns, unmeasured, is_too_short: found.is_too_short }
    });
    examined.collect()
}

fn finding(
    pattern: &TimePattern,
    origin: TimeOrigin,
    system: &SystemTime<'_>,
    effects: &[TotalWorkEffect],
) -> TimeFinding {
    let kind = match pattern.kind {
        TimePatternKind::Outage => TimeFindingKind::Outage,
        TimePatternKind::PeriodicStall => TimeFindingKind::PeriodicStall,
        TimePatternKind::AlternatingSpeed => TimeFindingKind::AlternatingSpeed,
        TimePatternKind::LevelChange => TimeFindingKind::LevelChange,
        TimePatternKind::Drift => TimeFindingKind::Drift,
    };
    let within = |sample: &&StepSample<'_>| {
        let TimedSample { start_s, wall_s, .. } = sample.sample;
        start_s <= pattern.start_s && pattern.start_s < start_s + wall_s
    };
    // Of what is over within a cell; the others concern all cells.
    let at = (kind == TimeFindingKind::Outage && pattern.occurrences == 1)
        .then(|| system.samples.iter().find(within))
        .flatten();
    TimeFinding {
        system: system.system,
        kind,
        start_s: pattern.start_s,
        start_error_s: pattern.start_error_s,
        start_bytes: pattern.start_bytes,
        length_s: pattern.length_s,
        period_s: pattern.period_s,
        occurrences: pattern.occurrences,
        is_open: pattern.is_open,
        speed: pattern.speed,
        cost: pattern.cost,
        origin,
        is_unmeasured: false,
        coordinates: at.map(|sample| sample.step.coordinates.clone()),
        total_work: effects.to_vec(),
        text: String::new(),
    }
}

/// The parts of time in which a pattern is slow, from second to second.
fn slow_parts(pattern: &TimePattern) -> Vec<(f64, f64)> {
    let count = if pattern.period_s.is_some() { pattern.occurrences } else { 1 };
    let period = pattern.period_s.unwrap_or(0.0);
    (0..count)
        .map(|part| {
            let start = pattern.start_s + part as f64 * period;
            (start, start + pattern.length_s)
        })
        .collect()
}

fn origin(pattern: &TimePattern, system: &SystemTime<'_>, others: &[&SystemTime<'_>]) -> TimeOrigin {
    if others.iter().any(|other| other.patterns.iter().any(|also| is_same(pattern, also))) {
        return TimeOrigin::Shared;
    }
    let parts = slow_parts(pattern);
    let length: f64 = parts.iter().map(|(from, to)| to - from).sum();
    let overlap = |sample: &TimedSample| -> f64 {
        let end = sample.start_s + sample.wall_s;
        parts.iter().map(|(from, to)| (end.min(*to) - sample.start_s.max(*from)).max(0.0)).sum()
    };
    let worked = |other: &&&SystemTime<'_>| {
        let busy: f64 = other
            .samples
            .iter()
            .map(|StepSample { sample, .. }| {
                sample.busy_s * overlap(sample) / sample.wall_s.max(sample.busy_s).max(1e-9)
            })
            .sum();
        busy >= MEANWHILE * length
    };
    let stops_in_turns = pattern.period_s.is_some() && pattern.occurrences >= NEVER_BY_CHANCE;
    if others.iter().any(|other| worked(&other) || stops_in_turns && !other.samples.is_empty()) {
        return TimeOrigin::System;
    }
    let hiccups: Vec<Verdict> = system
        .samples
        .iter()
        .filter(|sample| overlap(&sample.sample) > 0.0)
        .flat_map(|sample| sample.step.checks.iter())
        .filter(|check| check.name == "hiccups")
        .map(|check| check.verdict)
        .collect();
    match hiccups.iter().max() {
        Some(Verdict::Warning | Verdict::Invalid) => TimeOrigin::Machine,
        Some(Verdict::Valid) => TimeOrigin::ServerOrNetwork,
        _ => TimeOrigin::NotKnown,
    }
}

fn is_same(a: &TimePattern, b: &TimePattern) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= SAME.1 * a.max(b);
    match (a.period_s, b.period_s) {
        (Some(a), Some(b)) => near(a, b),
        (None, None) if a.kind == TimePatternKind::Drift => {
            b.kind == a.kind && (a.speed < 1.0) == (b.speed < 1.0)
        }
        (None, None) => {
            let slack = SAME.0.max(SAME.1 * a.length_s);
            b.kind != TimePatternKind::Drift
                && (a.start_s - b.start_s).abs() <= slack
                && (a.length_s - b.length_s).abs() <= slack.max(0.2 * a.length_s)
        }
        _ => false,
    }
}

/// What the finding does to comparisons of total work. What both systems have in common does not separate them.
fn effects(
    pattern: &TimePattern,
    origin: TimeOrigin,
    system: &SystemTime<'_>,
    others: &[&SystemTime<'_>],
) -> Vec<TotalWorkEffect> {
    if origin == TimeOrigin::Shared {
        return Vec::new();
    }
    let own = times(system);
    let effect = |other: &&SystemTime<'_>| {
        let theirs = times(other);
        let both = own.iter().filter_map(|(cell, (busy, work))| {
            let (their_busy, their_work) = theirs.get(cell)?;
            (*work > 0.0 && *their_work > 0.0).then(|| (*busy, their_busy / their_work * work))
        });
        let (busy, their_busy) = both.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let all: f64 = system.samples.iter().map(|sample| sample.sample.busy_s).sum();
        let without = busy - pattern.cost.value * all;
        (busy > 0.0 && without > 0.0).then(|| TotalWorkEffect {
            other: other.system,
            ratio: their_busy / busy,
            ratio_without: their_busy / without,
        })
    };
    others.iter().filter_map(effect).collect()
}

/// Busy time and work of each cell.
fn times<'a>(system: &SystemTime<'a>) -> HashMap<&'a Coordinates, (f64, f64)> {
    let mut sums: HashMap<&Coordinates, (f64, f64)> = HashMap::new();
    for StepSample { step, sample } in &system.samples {
        let sum = sums.entry(&step.coordinates).or_default();
        *sum = (sum.0 + sample.busy_s, sum.1 + sample.work);
    }
    sums
}

/// What the steps that no result includes took of the measured time; none if that is less than the tolerance.
fn left_out(system: &SystemTime<'_>, left_out: &[LeftOut], options: &Options) -> Option<TimeFinding> {
    let lost: std::collections::HashSet<(&Coordinates, u32)> = left_out
        .iter()
        .filter(|step| step.system == system.system)
        .map(|step| (&step.coordinates, step.repetition))
        .collect();
    let all: f64 = system.samples.iter().map(|sample| sample.sample.busy_s).sum();
    let out = || {
        let is_out = |step: &StepResult| lost.contains(&(&step.coordinates, step.repetition));
        system.samples.iter().filter(move |sample| is_out(sample.step))
    };
    let first = out().next()?;
    let took: f64 = out().map(|sample| sample.sample.busy_s).sum();
    let share = took / all;
    (share >= options.tolerance).then(|| TimeFinding {
        system: system.system,
        kind: TimeFindingKind::LeftOut,
        start_s: first.sample.start_s,
        start_error_s: 0.0,
        start_bytes: 0.0,
        length_s: took,
        period_s: None,
        occurrences: lost.len(),
        is_open: false,
        speed: 0.0,
        cost: Estimate { value: share, interval: None, n: system.samples.len() },
        origin: TimeOrigin::NotKnown,
        is_unmeasured: false,
        coordinates: (lost.len() == 1).then(|| first.step.coordinates.clone()),
        total_work: Vec::new(),
        text: String::new(),
    })
}
