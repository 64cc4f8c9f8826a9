//! The groups of options that several commands share. A command includes only the groups that it honours.

pub mod cache_probes;
pub mod cell_repetition;
pub mod dashboard;
pub mod format;
pub mod gate_output;
pub mod login;
pub mod monitoring;
pub mod output;
pub mod password;
pub mod percent;
pub mod plan_file;
pub mod plan_flags;
pub mod policies;
pub mod ranks;
pub mod run_flags;
pub mod short_help;
pub mod vary;
pub mod work_dir;

/// Titles of the groups of options in help texts.
pub mod heading {
    pub const WORKLOAD: &str = "Workload";
    pub const REPETITION: &str = "Repetition";
    pub const CACHES: &str = "Caches and durability";
    pub const TARGETS: &str = "Targets";
    pub const MONITORING: &str = "Monitoring";
    pub const OUTPUT: &str = "Output";
    pub const RANKS: &str = "Ranks (under mpirun or srun)";
}
