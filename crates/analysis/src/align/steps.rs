//! All steps by position, then by system.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult};

use crate::types::{RunData, System};

/// Steps by position, then by system.
pub(crate) type StepTable<'a> = BTreeMap<&'a Coordinates, Vec<Vec<&'a StepResult>>>;

/// Sorts the steps of all runs into a table; the steps of one entry are in the order of their repetitions.
pub(crate) fn step_table<'a>(runs: &'a [RunData], systems: &[System]) -> StepTable<'a> {
    let mut table = StepTable::new();
    for (run, data) in runs.iter().enumerate() {
        for step in &data.steps {
            if let Some(system) = systems.iter().position(|system| system.owns(run, step)) {
                let row = table.entry(&step.coordinates).or_insert_with(|| vec![Vec::new(); systems.len()]);
                row[system].push(step);
            }
        }
    }
    for steps in table.values_mut().flatten() {
        steps.sort_by_key(|step| (step.repetition, step.index));
    }
    table
}
