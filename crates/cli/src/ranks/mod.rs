//! Several processes that measure as one, under `mpirun` or `srun`.

mod cost;
mod hosts;
mod party;
mod together;
mod world;

use clap::Args;
use sharebench_cluster::launched;

use crate::exit::Failure;

pub use cost::{CostArgs, run as cost};
pub use party::Party;
pub use together::{Source, measure_together};

/// Flags that mean something under mpirun or srun (docs/scale.md).
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Under mpirun or srun")]
pub struct RankFlags {
    /// How many users each rank gets of all, such as 2,1,1 [default: the same for each].
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    pub rank_weights: Vec<u32>,
    /// Read files that another rank wrote, this many ranks further on, so that no client reads what it cached.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub shift_ranks: u32,
}

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
