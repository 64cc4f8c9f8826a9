//! The options of runs under `mpirun` or `srun`.

use clap::Args;

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
