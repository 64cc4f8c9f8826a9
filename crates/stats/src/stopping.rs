//! When a cell has been measured often enough: by the width of its interval, never by its position.
//!
//! Source: stopping at a fixed width keeps the coverage of the interval as the width shrinks (Chow and
//! Robbins, Annals of Mathematical Statistics 36 (1965) 457); stopping at significance does not.

use std::collections::BTreeMap;

use crate::{clock_allowance, hodges_lehmann};

/// Level of the intervals whose width is judged.
const LEVEL: f64 = 0.95;

/// Up to this many systems each is paired with each; above, with the first only.
const EACH_WITH_EACH: usize = 4;

/// One repetition of a cell on one system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repetition {
    /// Work per time; positive.
    pub rate: f64,
    /// Measured time, in the unit of the clock's resolution.
    pub time: f64,
}

/// The decision of the stopping rule about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Measure it again.
    Continue,
    /// Its interval is as narrow as requested.
    Precise,
    /// The limit of repetitions is reached, and the interval is wider than requested.
    Limit,
    /// After the minimum number of repetitions there is no interval: too few of them were usable, and more repetitions
    /// would not help.
    Unusable,
}

/// docs/measure/measurement-rules.md R1: repeat until the interval is narrow, between a minimum and a maximum number of repetitions.
///
/// The rule gets a width and nothing else, so that it cannot depend on the sign or on a p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoppingRule {
    /// Half-width, in natural logarithm, at which to stop; 0 to continue to the limit.
    pub half_width: f64,
    /// Repetitions before the width is evaluated.
    pub least: usize,
    /// Limit of repetitions.
    pub most: usize,
}

impl StoppingRule {
    /// Decides after `measured` repetitions whose interval has this half-width; none when too few were usable.
    pub fn decide(&self, measured: usize, half_width: Option<f64>) -> Decision {
        match half_width {
            _ if measured < self.least => Decision::Continue,
            None => Decision::Unusable,
            Some(width) if width <= self.half_width => Decision::Precise,
            Some(_) if measured >= self.most => Decision::Limit,
            Some(_) => Decision::Continue,
        }
    }
}

/// The half-width of a cell, in natural logarithm: the widest over the ratios of every two systems, paired by
/// repetition; of a single system, that of its rate. The clock's allowance (`resolution / time`, per side) is added.
/// None while one of them has no interval.
///
/// `systems` holds the usable repetitions of each system by their number.
pub fn widest_half_width(systems: &[BTreeMap<u32, Repetition>], resolution: f64) -> Option<f64> {
    if let [only] = systems {
        let rates: Vec<f64> = only.values().map(|r| r.rate.ln()).collect();
        // A time of its own: the rate's one side instead of a ratio's two.
        return Some(
            half_width(&rates)? + clock_allowance(resolution, shortest(only.values()), f64::INFINITY),
        );
    }
    let mut widest: f64 = 0.0;
    for (index, one) in systems.iter().enumerate() {
        let others = if systems.len() <= EACH_WITH_EACH { index } else { index.min(1) };
        for other in &systems[..others] {
            widest = widest.max(pair_half_width(one, other, resolution)?);
        }
    }
    Some(widest)
}

fn pair_half_width(
    one: &BTreeMap<u32, Repetition>,
    other: &BTreeMap<u32, Repetition>,
    resolution: f64,
) -> Option<f64> {
    let pairs: Vec<(&Repetition, &Repetition)> =
        one.iter().filter_map(|(repetition, a)| Some((a, other.get(repetition)?))).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| (a.rate / b.rate).ln()).collect();
    let a = shortest(pairs.iter().map(|pair| pair.0));
    let b = shortest(pairs.iter().map(|pair| pair.1));
    Some(half_width(&ratios)? + clock_allowance(resolution, a, b))
}

fn half_width(logs: &[f64]) -> Option<f64> {
    Some(hodges_lehmann(logs, LEVEL)?.interval?.half_width())
}

fn shortest<'a>(repetitions: impl Iterator<Item = &'a Repetition>) -> f64 {
    repetitions.map(|repetition| repetition.time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(rates: &[f64]) -> BTreeMap<u32, Repetition> {
        (0..).zip(rates.iter().map(|&rate| Repetition { rate, time: 200.0 })).collect()
    }

    #[test]
    fn the_rule_looks_at_number_and_width_alone() {
        let rule = StoppingRule { half_width: 0.02, least: 10, most: 60 };
        assert_eq!(rule.decide(9, Some(0.001)), Decision::Continue);
        assert_eq!(rule.decide(10, Some(0.019)), Decision::Precise);
        assert_eq!(rule.decide(10, Some(0.021)), Decision::Continue);
        assert_eq!(rule.decide(60, Some(0.021)), Decision::Limit);
        assert_eq!(rule.decide(10, None), Decision::Unusable);
    }

    #[test]
    fn what_both_systems_share_does_not_widen_their_ratio() {
        let a = [100.0, 150.0, 80.0, 120.0, 90.0, 110.0];
        let b: Vec<f64> = a.iter().map(|rate| rate * 0.8).collect();
        assert!(widest_half_width(&[system(&a), system(&b)], 0.0).unwrap() < 1e-12);
        assert!(widest_half_width(&[system(&a)], 0.0).unwrap() > 0.2);
        // q/T of either side: a clock of 2 in times of 200.
        let clocked = widest_half_width(&[system(&a), system(&b)], 2.0).unwrap();
        assert!((clocked - 0.02).abs() < 1e-9);
    }

    #[test]
    fn pairs_are_matched_by_repetition_and_the_widest_counts() {
        let steady = system(&[100.0; 8]);
        let mut gaps = system(&[50.0, 51.0, 49.0, 50.0, 52.0, 50.0, 48.0, 50.0]);
        let wide = widest_half_width(&[steady.clone(), steady.clone(), gaps.clone()], 0.0).unwrap();
        assert!((wide - widest_half_width(&[steady.clone(), gaps.clone()], 0.0).unwrap()).abs() < 1e-12);
        gaps.retain(|repetition, _| *repetition > 2);
        assert_eq!(widest_half_width(&[steady, gaps], 0.0), None, "five pairs have no interval");
    }
}
