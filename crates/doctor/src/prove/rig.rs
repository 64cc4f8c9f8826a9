//! The rig of an experiment: an embedded NFS server on loopback, its device with a log, and the engine.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use sharebench_engine::{Clock, Run, StartError, StopSignal};
use sharebench_model::{RunEvent, RunOutcome, StepResult};
use sharebench_nfs::NfsTarget;
use sharebench_plan::{Mistakes, Plan, PlannedTarget};
use sharebench_server::{
    CacheOptions, DeviceOptions, DeviceRecord, DeviceRequest, DeviceVolume, MemoryVolume, NfsServer,
    NfsServerOptions, ServeError, ServiceTime, Volume,
};
use sharebench_target::{Target, TargetUrl, UrlError};

/// Bytes of the memory behind a device.
const MEMORY: u64 = 128 << 20;

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProveError {
    /// This machine or this user lacks something.
    #[error("{0}")]
    Missing(String),
    /// The embedded server did not start.
    #[error("embedded server: {0}")]
    Serve(#[from] ServeError),
    /// The plan is wrong, which is our fault.
    #[error("plan of the experiment: {0}")]
    Plan(#[from] Mistakes),
    /// The address of the server is no URL, which is our fault.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The run did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run did not end well.
    #[error("run of the experiment: {0}")]
    Run(String),
    /// A socket, thread or clock of the experiment failed.
    #[error("experiment: {0}")]
    Io(#[from] std::io::Error),
}

/// A volume served over NFS on loopback for as long as it lives.
pub(crate) struct Served {
    pub target: NfsTarget,
    /// Stops when dropped.
    _server: NfsServer,
}

impl Served {
    pub fn start(volume: Arc<dyn Volume>) -> Result<Self, ProveError> {
        Self::with(volume, NfsServerOptions::default())
    }

    fn with(volume: Arc<dyn Volume>, mut options: NfsServerOptions) -> Result<Self, ProveError> {
        options.export = "/proof".into();
        let server = NfsServer::start(([127, 0, 0, 1], 0).into(), volume, options)?;
        let url = format!("nfs://127.0.0.1:{0}/proof?mountport={0}", server.addr().port());
        Ok(Self { target: NfsTarget::from_url(TargetUrl::parse(&url)?)?, _server: server })
    }
}

/// A device with known truth, served.
pub(crate) struct Rig {
    device: Arc<DeviceVolume<MemoryVolume>>,
    served: Served,
}

impl Rig {
    pub fn start(device: DeviceOptions) -> Result<Self, ProveError> {
        Self::with(device, NfsServerOptions::default())
    }

    fn with(device: DeviceOptions, server: NfsServerOptions) -> Result<Self, ProveError> {
        let device = Arc::new(DeviceVolume::new(MemoryVolume::new(MEMORY), device));
        let served = Served::with(Arc::clone(&device) as Arc<dyn Volume>, server)?;
        Ok(Self { device, served })
    }

    /// A device of this service time for so many users, each with one request in flight.
    ///
    /// Every connection has a thread of its own which does the waiting too: a hand-over to another thread
    /// would cost two wake-ups that the log does not see.
    pub fn serving(service: ServiceTime, users: u32) -> Result<Self, ProveError> {
        // Connections are dealt out in turn; a session takes two, one of them to mount, and the engine has
        // a session of its own.
        let threads = 2 * (users as usize + 1);
        let device = DeviceOptions { service, in_place: true, ..DeviceOptions::default() };
        Self::with(device, NfsServerOptions { threads, ..NfsServerOptions::default() })
    }

    /// A device of this service time behind a cache of so many bytes.
    pub fn caching(service: ServiceTime, bytes: u64) -> Result<Self, ProveError> {
        let cache = CacheOptions { bytes, ..CacheOptions::default() };
        let device = DeviceOptions { service, cache, in_place: true, ..DeviceOptions::default() };
        Self::with(device, NfsServerOptions { threads: 8, ..NfsServerOptions::default() })
    }

    pub fn target(&self) -> Arc<dyn Target> {
        Arc::new(self.nfs())
    }

    pub fn nfs(&self) -> NfsTarget {
        self.served.target.clone()
    }

    /// The device behind the server.
    pub fn device(&self) -> &DeviceVolume<MemoryVolume> {
        &self.device
    }

    /// What the server executed since the last call: its reads, in order of arrival.
    pub fn take_reads(&self) -> Vec<DeviceRecord> {
        let mut reads = self.device.take_log().records;
        reads.retain(|record| record.request == DeviceRequest::Read);
        reads.sort_by_key(|record| record.received_ns);
        reads
    }
}

/// Time the server had a request, in nanoseconds, as it logged it.
pub(crate) fn executed_ns(record: &DeviceRecord) -> u64 {
    record.ended_ns - record.received_ns
}

/// The middle of some times; 0 of none.
pub(crate) fn median_ns(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

/// Mean of some times; 0 of none.
pub(crate) fn mean_ns(times: impl ExactSizeIterator<Item = u64>) -> f64 {
    let count = times.len().max(1) as f64;
    times.sum::<u64>() as f64 / count
}

/// A plan that reads a file of 64 KiB in records of 4 KiB, one in flight.
pub(crate) fn reading(sample: Duration, repetitions: u32) -> Result<Plan, ProveError> {
    let sweep = "[sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read']";
    Ok(Plan::parse(&format!("min_sample_time = '{sample:?}'\nrepetitions = {repetitions}\n{sweep}"))?)
}

/// A plan that reads a file of 16 MiB in records of 64 KiB with `depth` in flight.
pub(crate) fn streaming(sample: Duration, depth: u32) -> Result<Plan, ProveError> {
    let study = "[depth]\nfile_size = '16MiB'\nrecord_sizes = ['64KiB']\ntests = ['read']";
    Ok(Plan::parse(&format!("min_sample_time = '{sample:?}'\nrepetitions = 1\n{study}\ndepths = [{depth}]"))?)
}

/// A plan of single reads of 4 KiB in a file of 64 KiB; `pace` are the lines of the load that differ.
pub(crate) fn single_reads(pace: &str) -> Result<Plan, ProveError> {
    Ok(Plan::parse(&format!("[load]\nworkload = 'single-read'\nblock = '4KiB'\nscale = '64KiB'\n{pace}"))?)
}

/// Lets the engine run a plan on targets, and gives the steps in order.
pub(crate) fn run(plan: Plan, targets: &[Arc<dyn Target>]) -> Result<Vec<StepResult>, ProveError> {
    let planned = targets
        .iter()
        .enumerate()
        .map(|(n, target)| PlannedTarget { name: format!("t{n}"), url: target.url() });
    let plan = Plan { seed: plan.seed.or(Some(1)), targets: planned.collect(), ..plan }.resolve()?;
    let (events, received) = mpsc::channel();
    let (clock, stop) = (Clock::start(), StopSignal::default());
    let run = Run {
        plan: &plan,
        targets,
        done: &[],
        directory: ".sharebench-proof",
        resumed: false,
        stop: &stop,
        clock: &clock,
        events: &events,
        ranks: None,
    };
    let end = run.execute()?;
    if end.outcome != RunOutcome::Complete {
        return Err(ProveError::Run(format!("{:?}", end.outcome)));
    }
    let steps = received.try_iter().filter_map(|event| match event {
        RunEvent::StepFinished(step) => Some(*step),
        _ => None,
    });
    Ok(steps.collect())
}

/// The same for a plan of one step.
pub(crate) fn run_one(plan: Plan, targets: &[Arc<dyn Target>]) -> Result<StepResult, ProveError> {
    run(plan, targets)?.pop().ok_or_else(|| ProveError::Run("it yielded no step".into()))
}

/// True when a self-check of that name is against the step.
pub(crate) fn flagged(step: &StepResult, name: &str) -> bool {
    step.checks.iter().any(|check| check.name == name && check.verdict > sharebench_model::Verdict::Valid)
}
