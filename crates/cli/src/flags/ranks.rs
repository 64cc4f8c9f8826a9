//! The options of runs by several processes under `mpirun` or `srun`.

use clap::Args;

use super::heading;

/// Division of jobs, users and files between ranks (docs/measure/scale.md).
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = heading::RANKS)]
pub struct RankFlags {
    /// Distribute users or jobs over the ranks by these weights, such as 2,1,1 [default: equally].
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    pub rank_weights: Vec<u32>,
    /// Read files that were written N ranks further on, so that no client reads from its own cache.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub shift_ranks: u32,
}
