//! What one setting costs or brings, over all pairs of systems that differ in nothing else that is known.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Coordinates, Value, axis};
use sharebench_stats::{Estimate, median_or_zero};

use crate::types::{Comparison, Pairing, Section};

/// Neighbouring record sizes whose effects differ by less than this (in logarithm) are merged.
const ALIKE: f64 = 0.05;

/// Fewest cells of a reported effect.
pub(crate) const FEWEST_EFFECT_CELLS: usize = 3;

/// A setting's name, and its values before and after.
pub(crate) type Change = (String, String, String);

/// Ratios of one setting's change: per cell, of each pair of systems.
pub(crate) type Cells<'a> = BTreeMap<&'a Coordinates, Vec<f64>>;

pub(crate) fn is_repeated(comparisons: &[Comparison], from: usize, to: usize) -> bool {
    comparisons.iter().any(|comparison| {
        let this = [(from, to), (to, from)].contains(&(comparison.a, comparison.b));
        this && comparison.sections.iter().flatten().any(|summary| summary.pairing != Pairing::SingleRun)
    })
}

/// Cells of neighbouring record sizes with about the same effect.
pub(crate) struct Group<'a> {
    pub from: Option<&'a Value>,
    pub to: Option<&'a Value>,
    pub whole: bool,
    /// Effects per cell, each the mean over the pairs.
    pub cells: Vec<f64>,
    /// Effects per pair, each the mean over the cells, where every pair has every cell.
    pub pairs: Vec<f64>,
}

pub(crate) fn groups<'a>(cells: &Cells<'a>) -> Vec<Group<'a>> {
    let records: BTreeSet<Option<&Value>> = cells.keys().map(|at| at.get(axis::RECORD_SIZE)).collect();
    let mut found: Vec<(Vec<Option<&Value>>, f64)> = Vec::new();
    for record in &records {
        let effects: Vec<f64> = cells
            .iter()
            .filter(|(at, _)| at.get(axis::RECORD_SIZE) == *record)
            .flat_map(|(_, d)| d)
            .copied()
            .collect();
        let effect = median_or_zero(&effects);
        match found.last_mut() {
            Some((members, mean)) if (*mean - effect).abs() < ALIKE => {
                *mean += (effect - *mean) / (members.len() + 1) as f64;
                members.push(*record);
            }
            _ => found.push((vec![*record], effect)),
        }
    }
    let group = |(members, _): &(Vec<Option<&'a Value>>, f64)| {
        let inside: Vec<&Vec<f64>> = cells
            .iter()
            .filter(|(at, _)| members.contains(&at.get(axis::RECORD_SIZE)))
            .map(|(_, effects)| effects)
            .collect();
        let mean = |of: &mut dyn Iterator<Item = f64>| {
            let all: Vec<f64> = of.collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let pairs = inside.iter().map(|effects| effects.len()).min().unwrap_or(0);
        let complete = inside.iter().all(|effects| effects.len() == pairs);
        Group {
            from: members.first().copied().flatten(),
            to: members.last().copied().flatten(),
            whole: members.len() == records.len(),
            cells: inside.iter().map(|effects| mean(&mut effects.iter().copied())).collect(),
            pairs: if complete {
                (0..pairs).map(|pair| mean(&mut inside.iter().map(|effects| effects[pair]))).collect()
            } else {
                Vec::new()
            },
        }
    };
    found.iter().map(group).collect()
}

/// The effect of a setting between two systems that differ in it alone, for the search for contradictions.
pub(crate) fn median_effect(sections: &[Section], from: usize, to: usize) -> Option<Estimate> {
    let logs: Vec<f64> = sections
        .iter()
        .flat_map(|section| &section.rows)
        .filter_map(|row| {
            Some((row.outcomes[to].as_ref()?.rate.value / row.outcomes[from].as_ref()?.rate.value).ln())
        })
        .collect();
    (logs.len() >= FEWEST_EFFECT_CELLS).then(|| Estimate {
        value: median_or_zero(&logs),
        interval: None,
        n: logs.len(),
    })
}
