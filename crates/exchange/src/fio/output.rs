//! The parts of fio's JSON that are read.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
pub(super) struct Output {
    #[serde(rename = "fio version")]
    pub version: String,
    #[serde(default)]
    pub timestamp_ms: u64,
    #[serde(rename = "global options", default)]
    pub global: BTreeMap<String, String>,
    pub jobs: Vec<Job>,
}

/// One job, or one of its processes.
#[derive(Debug, Deserialize)]
pub(super) struct Job {
    #[serde(rename = "jobname")]
    pub name: String,
    #[serde(rename = "groupid", default)]
    pub group: u64,
    #[serde(default)]
    pub error: i64,
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, String>,
    pub read: Direction,
    pub write: Direction,
    #[serde(default)]
    pub trim: Direction,
    /// Milliseconds, summed over processes where they are reported as a group.
    #[serde(rename = "job_runtime", default)]
    pub runtime: u64,
    /// Percent of the runtime.
    #[serde(default)]
    pub usr_cpu: f64,
    /// Percent of the runtime.
    #[serde(default)]
    pub sys_cpu: f64,
}

/// What a job read, wrote or trimmed.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Direction {
    pub io_bytes: u64,
    /// Milliseconds.
    pub runtime: u64,
    pub total_ios: u64,
    #[serde(default)]
    pub clat_ns: Times,
}

/// Completion times in nanoseconds.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Times {
    #[serde(rename = "N", default)]
    pub n: u64,
    #[serde(default)]
    pub max: u64,
    /// Percent to nanoseconds.
    #[serde(default)]
    pub percentile: BTreeMap<String, u64>,
    /// Nanoseconds to counts; in json+ only.
    #[serde(default)]
    pub bins: BTreeMap<String, u64>,
}
