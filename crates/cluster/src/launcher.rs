//! Detection of MPI launchers: whether one started this process, and with how many others.

/// The launcher that started this process together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// Number of processes, more than one.
    pub size: u32,
    /// The environment variable that contains the number.
    pub variable: &'static str,
}

/// Variables that contain the number of processes: of Open MPI, of launchers with PMI (MPICH, Intel MPI, srun with
/// them), and of a step of Slurm. `SLURM_NTASKS` is no evidence: batch scripts have it too, and run one process.
const VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Reads the environment; returns `None` for a process that no launcher started.
pub fn launched(read: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    VARIABLES.into_iter().find_map(|variable| {
        // A launcher that starts one process needs no coordination.
        let size = read(variable)?.trim().parse().ok().filter(|size| *size > 1)?;
        Some(Launched { size, variable })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_detected_by_their_variables() {
        let with = |name: &'static str, value: &'static str| {
            launched(move |requested| (requested == name).then(|| value.to_owned()))
        };
        assert_eq!(
            with("OMPI_COMM_WORLD_SIZE", "6"),
            Some(Launched { size: 6, variable: "OMPI_COMM_WORLD_SIZE" })
        );
        assert_eq!(with("SLURM_STEP_NUM_TASKS", "64").map(|launched| launched.size), Some(64));
        assert_eq!(with("PMI_SIZE", "1"), None);
        assert_eq!(with("PMI_SIZE", "many"), None);
        assert_eq!(with("SLURM_NTASKS", "8"), None);
    }
}
