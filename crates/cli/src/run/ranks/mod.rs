//! Runs by several processes under `mpirun` or `srun`: rank 0 leads, the other ranks follow.

mod group_run;
mod hosts;
mod rank_group;

use sharebench_cluster::launched;

use crate::exit::Failure;

pub use group_run::{Source, measure_together};
pub use rank_group::RankGroup;

/// Rejects a launcher for a command that measures one machine.
pub fn alone(command: &str) -> Result<(), Failure> {
    match launched(|name| std::env::var(name).ok()) {
        Some(launched) => Err(Failure::usage(format!(
            "{command} measures one machine, but {} started {} processes: start it without the launcher",
            launched.variable, launched.size
        ))),
        None => Ok(()),
    }
}
