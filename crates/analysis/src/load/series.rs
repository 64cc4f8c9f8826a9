//! The repetitions of a load, each as the series of its steps.

use std::collections::BTreeMap;

use sharebench_model::{StepResult, axis};

use crate::align::Aligned;
use crate::align::layout::Layout;
use crate::align::rates::usable;
use crate::align::turns::took_turns;
use crate::load::support::is_supported;
use crate::types::{Pairing, Row};

/// One system's steps of a load: by load (users, or starts per second), then by repetition. Only usable steps with enough
/// transactions.
pub(crate) struct LoadSteps<'a> {
    /// Rising loads, each with its repetitions.
    pub by_load: BTreeMap<u64, BTreeMap<u32, &'a StepResult>>,
}

/// The systems of a load, and how their repetitions can be paired.
pub(crate) struct LoadSeries<'a> {
    /// In the order of the systems.
    pub systems: Vec<LoadSteps<'a>>,
    /// True where the load of a step is its starts per second.
    pub by_rate: bool,
    aligned: &'a Aligned<'a>,
    positions: Vec<&'a sharebench_model::Coordinates>,
}

impl<'a> LoadSeries<'a> {
    /// The steps of users of a section; those of starts per second where there are no others.
    pub(crate) fn new(aligned: &'a Aligned<'a>, layout: &'a Layout, rows: &[Row]) -> Self {
        let is_open = |row: &&Row| row.coordinates.get(axis::RATE).is_some();
        let by_rate = rows.iter().all(|row| is_open(&row));
        let rows: Vec<&Row> = rows.iter().filter(|row| is_open(row) == by_rate).collect();
        let load_of = |row: &Row| {
            let number =
                if by_rate { row.coordinates.number(axis::RATE) } else { row.coordinates.users_or_jobs() };
            number.unwrap_or(0)
        };
        let steps = |system: usize| {
            let supported = |row: &&&Row| row.outcomes[system].as_ref().is_some_and(is_supported);
            let by_load = rows.iter().filter(supported).map(|row| {
                let steps = aligned.steps.at_system(&row.coordinates, system).iter().copied();
                let good = steps.filter(|step| usable(step, layout.unit));
                (load_of(row), good.map(|step| (step.repetition, step)).collect())
            });
            LoadSteps { by_load: by_load.collect() }
        };
        Self {
            systems: (0..aligned.systems.len()).map(steps).collect(),
            by_rate,
            aligned,
            positions: layout.positions.iter().filter(|at| at.get(axis::RATE).is_some() == by_rate).collect(),
        }
    }

    /// How the repetitions of two systems are paired: the weakest pairing among their steps.
    pub(crate) fn pairing(&self, a: usize, b: usize) -> Pairing {
        let repeated = |system: usize| {
            let steps = self.systems[system].by_load.values();
            steps.map(BTreeMap::len).min().is_some_and(|repetitions| repetitions > 1)
        };
        if !repeated(a) || !repeated(b) {
            return Pairing::SingleRun;
        }
        let run = |system: usize| self.aligned.systems[system].run;
        let in_turns = self.positions.iter().all(|at| {
            let steps_a = self.aligned.steps.at_system(at, a);
            let steps_b = self.aligned.steps.at_system(at, b);
            steps_a.is_empty() || steps_b.is_empty() || (run(a) == run(b) && took_turns(steps_a, steps_b))
        });
        if in_turns { Pairing::Interleaved } else { Pairing::NotInterleaved }
    }
}

impl LoadSteps<'_> {
    /// A figure of each step, by load and then by repetition; steps without it are left out.
    pub(crate) fn figures(
        &self,
        figure: impl Fn(&StepResult) -> Option<f64>,
    ) -> BTreeMap<u64, BTreeMap<u32, f64>> {
        let of_load = |steps: &BTreeMap<u32, &StepResult>| {
            let found = steps.iter().filter_map(|(repetition, step)| Some((*repetition, figure(step)?)));
            found.filter(|(_, value)| value.is_finite() && *value > 0.0).collect::<BTreeMap<u32, f64>>()
        };
        let all = self.by_load.iter().map(|(load, steps)| (*load, of_load(steps)));
        all.filter(|(_, values)| !values.is_empty()).collect()
    }
}
