//! Evidence about a server's cache and storage: service times of cache probes, and bytes that its system counted.

use serde::{Deserialize, Serialize};

/// Service times of cache probes in nanoseconds, in the order of the probes (docs/measure/measurement-rules.md R8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeTimes {
    /// Records that the workload will need later.
    pub ahead: Vec<u64>,
    /// How much later each of [`Self::ahead`] is due: bytes that the workload reads before it.
    pub distances: Vec<u64>,
    /// Records that the workload needs next: what the server read ahead is in its cache by then.
    pub next: Vec<u64>,
    /// The records of [`Self::ahead`] again: certainly in the server's cache.
    pub hot: Vec<u64>,
    /// Records that were evicted and not read since then, each once.
    pub cold: Vec<u64>,
    /// The records of [`Self::cold`] again, where unbuffered reads are what makes them cold; else empty.
    pub cold_again: Vec<u64>,
    /// Records of a small file read just before.
    pub known_hot: Vec<u64>,
}

/// Evidence of which cache or storage the bytes of a step came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerEvidence {
    /// Probes ahead of the workload; empty where none were made.
    pub probes: ProbeTimes,
    /// The step's own requests took the path of the probes, one at a time, so that the service times of both can be
    /// compared.
    pub own_times_comparable: bool,
    /// Why requested probes were not made.
    pub without_probes: Option<String>,
    /// Timed passes that began after the user's command had emptied the server's cache.
    pub cold_passes: u64,
    /// Bytes that the server's storage read during the timed passes of the step, as its system counts them.
    pub storage_read: Option<u64>,
    /// The same counts for the time after the cell, while probes were made.
    pub while_probed: Option<WhileProbed>,
}

/// What the workload read while probes ran ahead of it. The step's numbers do not include it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhileProbed {
    /// Bytes that the workload read.
    pub read: u64,
    /// Bytes that the server's storage read meanwhile, as its system counts them, without the cold records of the probes.
    pub storage_read: u64,
}

impl ServerEvidence {
    /// True without any evidence.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
