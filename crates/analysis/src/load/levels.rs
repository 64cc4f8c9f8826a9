//! Figures of a whole series of load steps: its capacity, and the users up to which it meets its objective.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::StepResult;
use sharebench_model::units::counted;
use sharebench_stats::hodges_lehmann;

use crate::align::rates::rate;
use crate::load::log_ratio::ByRepetition;
use crate::load::series::{LoadSeries, LoadSteps};
use crate::types::{LoadFigure, LoadLevel, RateUnit, ResponseLimit};

/// The rate has stopped rising if the step before the last has at least this share of the highest rate.
const NEAR_PEAK: f64 = 0.95;

/// A figure of a series, repetition by repetition, or why there is none.
pub(crate) struct SeriesFigure {
    pub by_repetition: ByRepetition,
    pub at_users: Option<u64>,
    pub refused: Option<String>,
}

/// Capacity and users at the objective of each system that was repeated, with their repetitions.
pub(crate) fn series_figures(
    series: &LoadSeries<'_>,
    unit: RateUnit,
    limits: &[ResponseLimit],
) -> Vec<(usize, LoadFigure, SeriesFigure)> {
    let mut found = Vec::new();
    for (system, steps) in series.systems.iter().enumerate() {
        if steps.by_load.len() < 2 || repetitions(steps).len() < 2 {
            continue;
        }
        // The rate of an open load is its schedule.
        if !series.by_rate {
            found.push((system, LoadFigure::Capacity, capacity(steps, unit)));
        }
        if steps.by_load.values().flat_map(BTreeMap::values).all(|step| step.measure.load.objective.is_some())
        {
            found.push((system, LoadFigure::UsersAtObjective, at_objective(steps, series.by_rate, limits)));
        }
    }
    found
}

/// A figure of a series as readers see it.
pub(crate) fn level(system: usize, figure: LoadFigure, found: &SeriesFigure, level: f64) -> LoadLevel {
    let logs: Vec<f64> = found.by_repetition.values().map(|value| value.ln()).collect();
    LoadLevel {
        system,
        figure,
        value: hodges_lehmann(&logs, level).map(|log| log.map(f64::exp)).filter(|_| found.refused.is_none()),
        at_users: found.at_users,
        refused: found.refused.clone(),
    }
}

/// Repetitions that have every step.
fn repetitions(steps: &LoadSteps<'_>) -> BTreeSet<u32> {
    let mut of_steps = steps.by_load.values().map(|steps| steps.keys().copied().collect::<BTreeSet<u32>>());
    let first = of_steps.next().unwrap_or_default();
    of_steps.fold(first, |all, step| all.intersection(&step).copied().collect())
}

/// The rates at the fewest users that reach the highest rate.
fn capacity(steps: &LoadSteps<'_>, unit: RateUnit) -> SeriesFigure {
    let rates = steps.figures(|step| rate(&step.measure, unit));
    let Some(users) = peak(&rates) else {
        let refused = Some("no step has a rate".to_owned());
        return SeriesFigure { by_repetition: ByRepetition::new(), at_users: None, refused };
    };
    let before = rates.range(..users).next_back().map_or(f64::NEG_INFINITY, |(_, rates)| mean_log(rates));
    let is_last = rates.last_key_value().is_some_and(|(last, _)| *last == users);
    let still_rises = is_last && before < mean_log(&rates[&users]) + NEAR_PEAK.ln();
    SeriesFigure {
        by_repetition: rates[&users].clone(),
        at_users: Some(users),
        refused: still_rises.then(|| format!("its rate still rises at {users} users, the largest step")),
    }
}

/// The fewest users at which the rate is within one standard error of the highest mean over all repetitions. The highest step
/// of each repetition would be too high wherever several steps are equal: on a plateau of three steps its interval covers 10
/// to 56 %, that of the highest mean 92 to 95 %, and this one 93 to 96 % (docs/measure/measurement-rules.md R7).
pub(crate) fn peak(rates: &BTreeMap<u64, ByRepetition>) -> Option<u64> {
    let highest = rates.values().max_by(|x, y| mean_log(x).total_cmp(&mean_log(y)))?;
    let reaches = |rates: &ByRepetition| {
        let both = highest.iter().filter_map(|(repetition, rate)| Some((rate / rates.get(repetition)?).ln()));
        let below: Vec<f64> = both.collect();
        let n = below.len() as f64;
        let mean = below.iter().sum::<f64>() / n;
        let variance = below.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        mean <= (variance / n).sqrt()
    };
    rates.iter().find(|(_, rates)| std::ptr::eq(*rates, highest) || reaches(rates)).map(|(load, _)| *load)
}

fn mean_log(values: &ByRepetition) -> f64 {
    values.values().map(|value| value.ln()).sum::<f64>() / values.len() as f64
}

/// The load up to which each repetition meets the objective: between the last step that meets it and the first that misses
/// it, by the response time that misses it first.
fn at_objective(steps: &LoadSteps<'_>, by_rate: bool, limits: &[ResponseLimit]) -> SeriesFigure {
    let mut by_repetition = ByRepetition::new();
    let all = repetitions(steps);
    let mut always = 0;
    let mut never = 0;
    for repetition in &all {
        let loaded = steps
            .by_load
            .iter()
            .filter_map(|(load, steps)| steps.get(repetition).map(|step| LoadedStep { load: *load, step }));
        let series: Vec<LoadedStep<'_>> = loaded.collect();
        let missed = series.iter().position(|LoadedStep { step, .. }| !is_kept(step));
        match missed {
            None => always += 1,
            Some(0) => never += 1,
            Some(missed) => {
                by_repetition.insert(*repetition, crossing(&series[missed - 1], &series[missed], limits));
            }
        }
    }
    let unit = if by_rate { "starts/s" } else { "users" };
    let load = |load: Option<(&u64, _)>| load.map_or(0, |(load, _)| *load);
    let of = |count: usize| format!("in {count} of {}", counted(all.len(), "repetition"));
    let refused = if always > 0 {
        Some(format!(
            "it is met at {} {unit}, the largest step, {}",
            load(steps.by_load.last_key_value()),
            of(always)
        ))
    } else if never > 0 {
        Some(format!(
            "it is missed at {} {unit}, the smallest step, {}",
            load(steps.by_load.first_key_value()),
            of(never)
        ))
    } else {
        None
    };
    SeriesFigure { by_repetition, at_users: None, refused }
}

fn is_kept(step: &StepResult) -> bool {
    step.measure.load.objective.as_ref().is_some_and(|objective| objective.kept)
}

/// A step of one repetition with its load.
struct LoadedStep<'a> {
    load: u64,
    step: &'a StepResult,
}

/// The load between two steps at which the response time reaches its limit, by straight lines through the logarithms of
/// the times; the step that meets the objective where something else misses it.
fn crossing(kept: &LoadedStep<'_>, missed: &LoadedStep<'_>, limits: &[ResponseLimit]) -> f64 {
    let time = |step: &StepResult, limit: &ResponseLimit| match limit.quantile {
        Some(quantile) => step.measure.response.quantile(quantile) as f64,
        None => step.measure.response.mean(),
    };
    let at = |limit: &ResponseLimit| {
        let low = time(kept.step, limit).max(1.0).ln();
        let high = time(missed.step, limit).max(1.0).ln();
        let share = ((limit.ns.ln() - low) / (high - low)).clamp(0.0, 1.0);
        (high > limit.ns.ln() && high > low)
            .then_some(kept.load as f64 + share * (missed.load - kept.load) as f64)
    };
    limits.iter().filter_map(at).reduce(f64::min).unwrap_or(kept.load as f64)
}
