//! Several processes that measure as one, under `mpirun` or `srun`.

mod group_run;
mod hosts;
mod rank_group;
pub mod world;

use sharebench_cluster::launched;

use crate::exit::Failure;

pub use group_run::{Source, measure_together};
pub use rank_group::RankGroup;

/// For commands that measure one machine only.
pub fn alone(command: &str) -> Result<(), Failure> {
    match launched(|name| std::env::var(name).ok()) {
        Some(launched) => Err(Failure::usage(format!(
            "{command} measures one machine, but {} started {} processes: start it without the launcher",
            launched.variable, launched.size
        ))),
        None => Ok(()),
    }
}
