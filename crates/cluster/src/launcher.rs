//! Whether a launcher of parallel programs started this process, and as one of how many.

/// As what a launcher started this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// How many processes there are; more than one.
    pub size: u32,
    /// The variable that told.
    pub by: &'static str,
}

/// Variables that tell the number of processes: of Open MPI, of those that speak PMI (MPICH, Intel MPI, srun with
/// them), and of a step of Slurm. `SLURM_NTASKS` is set in batch scripts too, where nothing parallel runs.
const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// What the environment says; none for a process of its own.
pub fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    VARIABLES.into_iter().find_map(|by| {
        let size = variable(by)?.trim().parse().ok().filter(|size| *size > 1)?;
        Some(Launched { size, by })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_leave_in_the_environment() {
        let with = |name: &'static str, value: &'static str| {
            launched(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(with("OMPI_COMM_WORLD_SIZE", "6"), Some(Launched { size: 6, by: "OMPI_COMM_WORLD_SIZE" }));
        assert_eq!(with("SLURM_STEP_NUM_TASKS", "64").map(|launched| launched.size), Some(64));
        assert_eq!(with("PMI_SIZE", "1"), None);
        assert_eq!(with("PMI_SIZE", "many"), None);
        assert_eq!(with("SLURM_NTASKS", "8"), None);
    }
}
