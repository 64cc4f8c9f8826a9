//! Whoever looks on beside the results database and the live view: a Prometheus server, and what an exporter says of the server.

use std::net::SocketAddr;

use clap::Args;
use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::exit::Failure;
use crate::prometheus::{Metrics, address};
use crate::server_metrics::{ExporterUrl, ServerMetrics};

/// Flags of every command that measures.
#[derive(Debug, Clone, Default, Args)]
pub struct OutletFlags {
    /// Serve the run's metrics for Prometheus while it runs, at /metrics; on 127.0.0.1 unless an address is given.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
    /// Ask a Prometheus exporter on the server (`node_exporter`, `windows_exporter`, or one of the server process) once a
    /// second how busy its processors are; one for all targets or one for each, in their order.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub server_metrics: Vec<ExporterUrl>,
}

/// Those of one run.
pub struct Outlets {
    metrics: Option<Metrics>,
    servers: Vec<ServerMetrics>,
}

impl Outlets {
    /// Listens and asks for the first time, so that what does not work is told before anything is measured.
    pub fn open(flags: &OutletFlags, plan: &ResolvedPlan) -> Result<Self, Failure> {
        let (urls, targets) = (flags.server_metrics.len(), plan.targets.len());
        if urls > 1 && urls != targets {
            return Err(Failure::usage(format!(
                "--server-metrics: {urls} exporters for {targets} targets: name one for all, or one for each"
            )));
        }
        let names = plan.targets.iter().map(|target| target.name.clone()).collect();
        let metrics = match flags.prometheus {
            None => None,
            Some(at) => Some(
                Metrics::serve(at, names)
                    .map_err(|error| Failure::usage(format!("--prometheus {at}: {error}")))?,
            ),
        };
        let mut servers = Vec::new();
        for url in &flags.server_metrics {
            let opened = ServerMetrics::open(url);
            servers.push(opened.map_err(|why| Failure::usage(format!("--server-metrics {url}: {why}")))?);
        }
        Ok(Self { metrics, servers })
    }

    /// A step of users with what its server's exporter said; none where there is nothing to add.
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

    /// Shows an event to who looks on.
    pub fn show(&self, event: &RunEvent) {
        if let Some(metrics) = &self.metrics {
            metrics.show(event);
        }
    }
}
