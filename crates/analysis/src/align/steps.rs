//! All steps by position, then by system.

use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult};

use crate::types::{RunData, System};

/// Steps by position, then by system, then by repetition.
///
/// All of them are in one list, which takes a few words per position: an imported table may have a million positions
/// with one step each.
pub(crate) struct StepTable<'a> {
    systems: usize,
    places: HashMap<&'a Coordinates, u32>,
    steps: Vec<&'a StepResult>,
    /// Where the steps of each position and system begin in the list, and its end.
    begins: Vec<u32>,
}

impl<'a> StepTable<'a> {
    /// The steps of each system at a position.
    pub(crate) fn at(&self, coordinates: &Coordinates) -> impl Iterator<Item = &[&'a StepResult]> {
        (0..self.systems).map(|system| self.at_system(coordinates, system))
    }

    /// The steps of one system at a position.
    pub(crate) fn at_system(&self, coordinates: &Coordinates, system: usize) -> &[&'a StepResult] {
        let Some(place) = self.places.get(coordinates) else { return &[] };
        let cell = *place as usize * self.systems + system;
        &self.steps[self.begins[cell] as usize..self.begins[cell + 1] as usize]
    }

    /// How many positions of a system have steps, over all systems.
    pub(crate) fn outcomes(&self) -> usize {
        self.begins.windows(2).filter(|ends| ends[0] < ends[1]).count()
    }
}

/// Sorts the steps of all runs into a table.
pub(crate) fn step_table<'a>(runs: &'a [RunData], systems: &[System]) -> StepTable<'a> {
    let mut places: HashMap<&Coordinates, u32> = HashMap::new();
    let mut sorted = Vec::with_capacity(runs.iter().map(|run| run.steps.len()).sum());
    for (run, data) in runs.iter().enumerate() {
        for step in &data.steps {
            if let Some(system) = systems.iter().position(|system| system.owns(run, step)) {
                let next = places.len() as u32;
                let place = *places.entry(&step.coordinates).or_insert(next);
                let cell = place as usize * systems.len() + system;
                sorted.push((cell, step.repetition, step.index, step));
            }
        }
    }
    sorted.sort_unstable_by_key(|(cell, repetition, index, _)| (*cell, *repetition, *index));
    let mut begins = vec![0; places.len() * systems.len() + 1];
    for (cell, ..) in &sorted {
        begins[cell + 1] += 1;
    }
    let mut sum = 0;
    for begin in &mut begins {
        sum += *begin;
        *begin = sum;
    }
    let mut steps: Vec<&StepResult> = sorted.into_iter().map(|(.., step)| step).collect();
    // The list is collected in the memory of the sorted one, whose items are three times as large.
    steps.shrink_to_fit();
    StepTable { systems: systems.len(), places, steps, begins }
}
