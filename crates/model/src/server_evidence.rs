//! What was seen of a server's cache and storage: times of probes, and bytes that its system counted.

use serde::{Deserialize, Serialize};

/// Times of probes in nanoseconds, in the order in which they were made (docs/measurement-rules.md R8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTimes {
    /// Records that the workload will need later.
    pub ahead: Vec<u64>,
    /// The same records again: certainly in the server's cache.
    pub hot: Vec<u64>,
    /// Records that nobody has read since they were pushed out, each once.
    pub cold: Vec<u64>,
    /// Records of a small file read just before.
    pub known_hot: Vec<u64>,
}

/// Evidence of where the bytes came from that a server delivered in a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerEvidence {
    /// Probes ahead of the workload; empty where none were made.
    pub probes: ProbeTimes,
    /// Why none were made although they were asked for.
    pub without_probes: Option<String>,
    /// Timed passes that began with the server's cache emptied by the user's command.
    pub cold_passes: u64,
    /// Bytes that the server's storage read while the step was measured, as its system counts them.
    pub storage_read: Option<u64>,
    /// The same for what came after, while probes were made.
    pub while_probed: Option<WhileProbed>,
}

/// What a workload read while probes looked ahead of it; none of it is in the step's numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhileProbed {
    /// Bytes that the workload read.
    pub read: u64,
    /// Bytes that the server's storage read meanwhile, as its system counts them, without the cold records of the probes.
    pub storage_read: u64,
}

impl ServerEvidence {
    /// True when nothing was asked or seen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
