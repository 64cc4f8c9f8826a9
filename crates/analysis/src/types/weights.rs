//! A workload as weights: what a user does with files, in bytes per kind of request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::units::ByteSize;
use sharebench_stats::Estimate;

use crate::types::{Pairing, RatioVerdict};

/// Bytes that are moved in one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// Written; read otherwise.
    pub write: bool,
    /// Anywhere in the file; from its beginning to its end otherwise.
    pub random: bool,
    /// Bytes of the files.
    pub file_size: u64,
    /// Bytes of a request.
    pub record_size: u64,
    /// Bytes moved, in any unit that is the same for all.
    pub bytes: f64,
}

/// A workload: bytes moved per kind of request and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Its name.
    pub name: String,
    /// All of it.
    pub parts: Vec<Weight>,
}

impl Weights {
    /// Joins parts of the same kind and size, sizes rounded to the next power of two.
    #[must_use]
    pub fn joined(self) -> Self {
        let mut joined: BTreeMap<(bool, bool, u64, u64), f64> = BTreeMap::new();
        for part in self.parts {
            let file = part.file_size.max(1).next_power_of_two();
            let record = part.record_size.clamp(1, part.file_size.max(1)).next_power_of_two();
            *joined.entry((part.write, part.random, file, record)).or_default() += part.bytes;
        }
        let part = |((write, random, file_size, record_size), bytes)| Weight {
            write,
            random,
            file_size,
            record_size,
            bytes,
        };
        Self { name: self.name, parts: joined.into_iter().map(part).collect() }
    }
}

/// A comparison weighted by a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightedComparison {
    /// Index into [`Analysis::comparisons`](crate::types::Analysis::comparisons).
    pub comparison: usize,
    /// Name of the workload.
    pub name: String,
    /// Work done in the same time; none where too little of it was measured.
    pub ratio: Option<Estimate>,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// Share of the bytes for which there is a cell.
    pub covered: f64,
    /// Cells that stand for them.
    pub cells: usize,
    /// Share of the time, on the slower side of each cell, in cells that a client's cache served on one side only.
    pub cached_on_one_side: f64,
    /// What it rests on; none where too little of it was measured.
    pub pairing: Option<Pairing>,
}

impl std::fmt::Display for Weight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.random { "random " } else { "" };
        let what = if self.write { "write" } else { "read" };
        write!(f, "{place}{what} {} of {}", ByteSize(self.record_size), ByteSize(self.file_size))
    }
}
