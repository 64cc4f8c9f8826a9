//! What each rank (load machine) of a run did.

use serde::{Deserialize, Serialize};
use sharebench_model::RankShare;

/// The ranks of one run of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankTable {
    /// Label of the run.
    pub run: String,
    /// In the order of their numbers.
    pub ranks: Vec<RankSummary>,
    /// How many steps they measured together.
    pub steps: usize,
    /// How far apart they started at most, nanoseconds.
    pub start_skew_ns: u64,
    /// How exactly their clocks were known at worst, nanoseconds.
    pub clock_error_ns: u64,
    /// In what their machines differ, as they said themselves, such as `memory: c0 16 GiB, c3 8 GiB`.
    pub differences: Vec<String>,
}

/// One rank over all steps of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// Its number, from 0.
    pub rank: u32,
    /// Name of its machine.
    pub host: String,
    /// Most users it had in a step.
    pub users: u32,
    /// Its part of the throughput over all steps, bytes per second.
    pub bytes_per_s: f64,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Failures of all classes.
    pub errors: u64,
    /// Median response over all steps, nanoseconds; 0 without times.
    pub p50_ns: u64,
    /// 99th percentile of the same.
    pub p99_ns: u64,
    /// How long after the common start it began at worst, nanoseconds.
    pub late_ns: u64,
    /// What each of its users did over what those of the middle rank did, in the typical step; none if there are too
    /// few transactions.
    pub work: Option<f64>,
    /// Its median response over that of the middle rank, in the typical step.
    pub wait: Option<f64>,
}

impl RankSummary {
    /// How it deviates from the others, by the limits of the engine's check `ranks`, over the whole run.
    pub fn unlike(&self) -> Option<RankDeviation> {
        match (self.work, self.wait) {
            (Some(work), _) if work < RankShare::SLOW => Some(RankDeviation::Slow),
            (_, Some(wait)) if wait > RankShare::WAITS => Some(RankDeviation::Waits),
            _ => None,
        }
    }
}

/// How a rank deviates from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankDeviation {
    /// Its users do less.
    Slow,
    /// Its users wait longer.
    Waits,
}
