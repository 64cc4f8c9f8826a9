//! The arguments that `sweep` and `depth` share: both measure the cells of a grid.

use clap::Args;
use sharebench_plan::{Plan, TypedTarget};

use crate::commands::from_flags::base;
use crate::exit::Failure;
use crate::flags::cache_probes::CacheProbeFlags;
use crate::flags::cell_repetition::CellRepetitionFlags;
use crate::flags::plan_flags::PlanFlags;
use crate::flags::policies::PolicyFlags;
use crate::flags::run_flags::RunFlags;

/// Arguments of a command that measures each cell of a grid on each target. `Axes` are the options that span the grid.
#[derive(Debug, Args)]
pub struct CellArgs<Axes: Args> {
    /// Targets to measure: PATH, URL, NAME=PATH or NAME=URL.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<TypedTarget>,
    #[command(flatten)]
    pub axes: Axes,
    #[command(flatten)]
    pub repetition: CellRepetitionFlags,
    #[command(flatten)]
    pub policies: PolicyFlags,
    #[command(flatten)]
    pub cache_probes: CacheProbeFlags,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
}

impl<Axes: Args> CellArgs<Axes> {
    /// The plan without its grid: targets, repetition and cache probes.
    pub fn plan_without_grid(&self, title: &str) -> Result<Plan, Failure> {
        Ok(Plan {
            repetitions: self.repetition.repetitions(),
            precision: self.repetition.precision,
            budget: self.repetition.time_budget,
            cache_probes: self.cache_probes.typed(),
            ..base(title, &self.targets, &self.plan)?
        })
    }
}
