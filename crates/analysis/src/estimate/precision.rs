//! How precisely each cell of a run is known: the width at which its repetition stopped.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, axis};
use sharebench_stats::{Repetition, widest_half_width};

use crate::align::rates::{rate, usable};
use crate::types::{RateUnit, RunData};

/// Half-width per cell, in natural logarithm; none where too few repetitions were usable. Steps of users
/// are measured once and have none to show.
pub(crate) fn cell_widths(run: &RunData) -> Vec<Option<f64>> {
    let mut cells: BTreeMap<&Coordinates, Vec<BTreeMap<u32, Repetition>>> = BTreeMap::new();
    for step in run.steps.iter().filter(|step| step.coordinates.get(axis::WORKLOAD).is_none()) {
        let systems =
            cells.entry(&step.coordinates).or_insert_with(|| vec![BTreeMap::new(); run.header.targets.len()]);
        let unit =
            if step.is_rated_in_bytes() { RateUnit::BytesPerSecond } else { RateUnit::OperationsPerSecond };
        if let (Some(rate), Some(system)) = (rate(&step.measure, unit), systems.get_mut(step.target as usize))
            && usable(step, unit)
        {
            system.insert(step.repetition, Repetition { rate, time: step.measure.base_ns() as f64 });
        }
    }
    let clock = run.clock_resolution_ns();
    cells.values().map(|systems| widest_half_width(systems, clock)).collect()
}
