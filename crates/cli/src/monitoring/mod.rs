//! Monitoring of a run: its metrics for Prometheus, and the CPU load of its servers from their exporters.

#[cfg(feature = "pages")]
pub mod prometheus;
pub mod server_metrics;

#[cfg(feature = "pages")]
use std::net::SocketAddr;

use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::exit::Failure;
#[cfg(feature = "pages")]
use prometheus::Metrics;
use server_metrics::{ExporterUrl, ServerMetrics};

/// The monitoring of one run, until it is dropped.
pub struct Monitoring {
    #[cfg(feature = "pages")]
    metrics: Option<Metrics>,
    /// One exporter for all targets, or one per target.
    servers: Vec<ServerMetrics>,
}

impl Monitoring {
    /// Starts to read the exporters. Each is read once before this returns, so a wrong URL is an error before anything is
    /// measured.
    pub fn open(exporters: &[ExporterUrl], plan: &ResolvedPlan) -> Result<Self, Failure> {
        let urls = exporters.len();
        let targets = plan.targets.len();
        if urls > 1 && urls != targets {
            return Err(Failure::usage(format!(
                "--server-metrics: {urls} exporters for {targets} targets: give one for all, or one per target"
            )));
        }
        let mut servers = Vec::new();
        for url in exporters {
            let opened = ServerMetrics::open(url);
            servers.push(opened.map_err(|why| Failure::usage(format!("--server-metrics {url}: {why}")))?);
        }
        Ok(Self {
            #[cfg(feature = "pages")]
            metrics: None,
            servers,
        })
    }

    /// The same monitoring, with metrics for Prometheus at an address.
    #[cfg(feature = "pages")]
    pub fn served(self, address: SocketAddr, plan: &ResolvedPlan) -> Result<Self, Failure> {
        let names = plan.targets.iter().map(|target| target.name.clone()).collect();
        let metrics = Metrics::serve(address, names)
            .map_err(|error| Failure::usage(format!("--prometheus {address}: {error}")))?;
        Ok(Self { metrics: Some(metrics), ..self })
    }

    /// The step with the CPU load of its server, or none if no exporter measured it.
    pub fn complete(&self, step: &StepResult) -> Option<StepResult> {
        let server = match self.servers.as_slice() {
            [] => return None,
            [one] => one,
            each => each.get(step.target as usize)?,
        };
        let load = &step.measure.load;
        let until = load.window_unix_ms + step.measure.window_ns / 1_000_000;
        let busy = server.busy(load.window_unix_ms, until).filter(|_| !load.is_empty())?;
        let mut step = step.clone();
        step.measure.load.server = Some(busy);
        Some(step)
    }

    /// Updates the metrics with an event.
    #[cfg_attr(not(feature = "pages"), expect(unused_variables, clippy::unused_self))]
    pub fn show(&self, event: &RunEvent) {
        #[cfg(feature = "pages")]
        if let Some(metrics) = &self.metrics {
            metrics.show(event);
        }
    }
}
