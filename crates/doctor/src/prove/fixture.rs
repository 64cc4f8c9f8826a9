//! The fixture of an experiment: an embedded server on loopback, its device with a log, and the engine.

use std::sync::Arc;
use std::time::Duration;

use sharebench_engine::simulated::{collect, finished_steps};
use sharebench_engine::{Clock, StartError, StopSignal};
use sharebench_model::{RunOutcome, StepResult};
use sharebench_plan::{Mistakes, Plan, PlannedTarget};
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceRecord, DeviceRequest, DeviceVolume, MemoryVolume, ServeError,
    ServiceTime, Volume,
};
use sharebench_stats::upper_median;
use sharebench_target::{Target, UrlError};

use crate::prove::Protocol;
use crate::prove::served_volume::{ServedTarget, ServedVolume};

/// Bytes of the volume in memory.
const MEMORY: u64 = 128 << 20;

/// Why an experiment could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProveError {
    /// This machine or this user lacks a prerequisite.
    #[error("{0}")]
    Missing(String),
    /// The embedded server did not start.
    #[error("embedded server: {0}")]
    Serve(#[from] ServeError),
    /// The plan is invalid, which is a bug.
    #[error("plan of the experiment: {0}")]
    Plan(#[from] Mistakes),
    /// The address of the server is no URL, which is a bug.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The run did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run did not complete.
    #[error("run of the experiment: {0}")]
    Run(String),
    /// A socket, thread or clock of the experiment failed.
    #[error("experiment: {0}")]
    Io(#[from] std::io::Error),
}

/// A simulated device that logs every request, exported by an embedded server.
///
/// The log is the known answer of an experiment. Dropping the fixture stops the server.
pub(crate) struct Fixture {
    device: Arc<DeviceVolume<MemoryVolume>>,
    served: ServedVolume,
}

impl Fixture {
    pub fn start(protocol: Protocol, device: DeviceOptions) -> Result<Self, ProveError> {
        Self::with(protocol, device, None)
    }

    /// Starts a device, and a server with this number of threads.
    fn with(protocol: Protocol, device: DeviceOptions, threads: Option<usize>) -> Result<Self, ProveError> {
        let device = Arc::new(DeviceVolume::new(MemoryVolume::new(MEMORY), device));
        let volume = Arc::clone(&device) as Arc<dyn Volume>;
        let served = ServedVolume::start(protocol, volume, threads)?;
        Ok(Self { device, served })
    }

    /// Starts a device with this service time for a number of users, each with one request in flight.
    ///
    /// Each connection has its own thread, which also waits for the device: a hand-over to another thread would
    /// cost two wake-ups that the log does not contain.
    pub fn serving(protocol: Protocol, service: ServiceTime, users: u32) -> Result<Self, ProveError> {
        // The server assigns connections round robin. A session over NFS opens two, one of them to mount, and the engine
        // has its own session.
        let threads = 2 * (users as usize + 1);
        let device = DeviceOptions { service, in_place: true, ..DeviceOptions::default() };
        Self::with(protocol, device, Some(threads))
    }

    /// Starts a device with this service time and a cache of `bytes`.
    pub fn caching(protocol: Protocol, service: ServiceTime, bytes: u64) -> Result<Self, ProveError> {
        let cache = CacheOptions { bytes, ..CacheOptions::default() };
        let device = DeviceOptions { service, cache, in_place: true, ..DeviceOptions::default() };
        Self::with(protocol, device, Some(8))
    }

    pub fn target(&self) -> Arc<dyn Target> {
        self.served.target()
    }

    /// Returns the target for wrappers.
    pub fn served(&self) -> ServedTarget {
        self.served.target.clone()
    }

    /// Returns the device of the server.
    pub fn device(&self) -> &DeviceVolume<MemoryVolume> {
        &self.device
    }

    /// Returns the reads that the server executed since the last call, in order of arrival.
    pub fn take_reads(&self) -> Vec<DeviceRecord> {
        let mut reads = self.device.take_log().records;
        reads.retain(|record| record.request == DeviceRequest::Read);
        reads.sort_by_key(|record| record.received_ns);
        reads
    }
}

/// Returns the time from arrival to completion of a request in the log, in nanoseconds.
pub(crate) fn executed_ns(record: &DeviceRecord) -> u64 {
    record.ended_ns - record.received_ns
}

/// Returns the median, or 0 without values.
pub(crate) fn median_ns(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    upper_median(&mut times).unwrap_or(0)
}

/// Returns the mean, or 0 without values.
pub(crate) fn mean_ns(times: impl ExactSizeIterator<Item = u64>) -> f64 {
    let count = times.len().max(1) as f64;
    times.sum::<u64>() as f64 / count
}

/// Returns a plan that reads a file of 64 KiB in records of 4 KiB, one in flight. The server's cache is taken as it is, so
/// that the log contains measured reads only.
pub(crate) fn reading(sample: Duration, repetitions: u32) -> Result<Plan, ProveError> {
    let sweep = "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read']\nserver_cache = ['as-is']";
    Ok(Plan::parse(&format!("min_sample_time = '{sample:?}'\nrepetitions = {repetitions}\n{sweep}"))?)
}

/// Returns a plan that reads a file of 16 MiB in records of 64 KiB with `depth` in flight.
pub(crate) fn streaming(sample: Duration, depth: u32) -> Result<Plan, ProveError> {
    let study =
        "[depth]\nfile_size = '16MiB'\nrecord_sizes = ['64KiB']\ntests = ['read']\nserver_cache = ['as-is']";
    Ok(Plan::parse(&format!("min_sample_time = '{sample:?}'\nrepetitions = 1\n{study}\ndepths = [{depth}]"))?)
}

/// Returns a plan of single reads of 4 KiB in a file of 64 KiB; `pace` contains the other lines of the load.
pub(crate) fn single_reads(pace: &str) -> Result<Plan, ProveError> {
    Ok(Plan::parse(&format!("[load]\nworkload = 'single-read'\nblock = '4KiB'\nscale = '64KiB'\n{pace}"))?)
}

/// Runs a plan on the targets and returns the steps in order.
pub(crate) fn run(plan: Plan, targets: &[Arc<dyn Target>]) -> Result<Vec<StepResult>, ProveError> {
    let planned = targets
        .iter()
        .enumerate()
        .map(|(n, target)| PlannedTarget { name: format!("t{n}"), url: target.url() });
    let plan = Plan { seed: plan.seed.or(Some(1)), targets: planned.collect(), ..plan }.resolve()?;
    let (end, events) = collect(&plan, targets, &[], &Clock::start(), &StopSignal::default());
    let end = end?;
    if end.outcome != RunOutcome::Complete {
        return Err(ProveError::Run(format!("{:?}", end.outcome)));
    }
    Ok(finished_steps(events))
}

/// Runs a plan of one step and returns the step.
pub(crate) fn run_one(plan: Plan, targets: &[Arc<dyn Target>]) -> Result<StepResult, ProveError> {
    run(plan, targets)?.pop().ok_or_else(|| ProveError::Run("there is no step".into()))
}

/// Returns true if the self-check of that name marks the step.
pub(crate) fn flagged(step: &StepResult, name: &str) -> bool {
    step.checks.iter().any(|check| check.name == name && check.verdict > sharebench_model::Verdict::Valid)
}
