//! First stage: the systems of all runs, their steps by position, and which systems are compared.

pub(crate) mod clocks;
pub(crate) mod compared;
pub(crate) mod layout;
mod left_out;
pub(crate) mod rates;
pub(crate) mod settings;
mod steps;
mod systems;
pub(crate) mod turns;

use crate::align::clocks::Clock;
use crate::align::compared::{ComparedSystems, compared_systems};
use crate::align::layout::{Layout, layouts};
use crate::align::left_out::Unusable;
use crate::align::steps::{StepTable, step_table};
use crate::align::systems::systems;
use crate::types::{LeftOut, Options, RunData, System, Unaligned};

/// The steps of all runs, brought together by their coordinates.
///
/// This stage computes no rate: it decides what belongs together. A step belongs to one system (a target of a run) and
/// to one position; a position belongs to one section (a test or workload). All later stages refer to systems,
/// sections and comparisons by the indices that this stage assigns.
pub(crate) struct Aligned<'a> {
    /// The runs, as given.
    pub runs: &'a [RunData],
    /// Every target of every run.
    pub systems: Vec<System>,
    /// The comparisons to make, each of two systems.
    pub compared: Vec<ComparedSystems>,
    /// Sections with their positions, in the order of the report.
    pub layouts: Vec<Layout>,
    /// All steps, unusable ones included.
    pub steps: StepTable<'a>,
    /// One clock per run.
    pub clocks: Vec<Clock>,
    /// Steps that take part in no number.
    pub left_out: Vec<LeftOut>,
    /// Positions that not every system has.
    pub unaligned: Vec<Unaligned>,
}

/// Brings the steps of all runs together.
pub(crate) fn align<'a>(runs: &'a [RunData], options: &Options) -> Aligned<'a> {
    let systems = systems(runs);
    let compared = compared_systems(&systems, runs);
    let layouts = layouts(runs.iter().flat_map(|run| &run.steps), options);
    let steps = step_table(runs, &systems);
    let unusable = Unusable::new(&layouts, &steps);
    Aligned {
        runs,
        systems,
        compared,
        layouts,
        steps,
        clocks: runs.iter().map(Clock::from_run).collect(),
        left_out: unusable.left_out,
        unaligned: unusable.unaligned,
    }
}
