//! Evidence of what the storage of a server delivered.

use serde::{Deserialize, Serialize};

/// Evidence of a server's storage. Each part is none if it was not measured or not conclusive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageEvidence {
    /// Bytes that storage read per byte that the server delivered while the cell was timed, by its system's counter; above
    /// one where it reads ahead of what is asked.
    pub timed: Option<f64>,
    /// The same per byte that the workload read afterwards, while probes were made.
    pub while_probed: Option<f64>,
    /// Share of storage then, by the probes.
    pub probes: Option<f64>,
    /// Its standard error.
    pub error: Option<f64>,
    /// Why the estimate by probes was rejected, if it was.
    pub rejected: Option<String>,
}
