//! What makes a run observable from outside: a Prometheus server, and what an exporter says of the server.

pub mod prometheus;
pub mod server_metrics;

use std::net::SocketAddr;

use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::exit::Failure;
use prometheus::Metrics;
use server_metrics::{ExporterUrl, ServerMetrics};

/// Those of one run.
pub struct Monitoring {
    metrics: Option<Metrics>,
    servers: Vec<ServerMetrics>,
}

impl Monitoring {
    /// Listens and asks for the first time, so that what does not work is told before anything is measured.
    pub fn open(
        prometheus: Option<SocketAddr>,
        exporters: &[ExporterUrl],
        plan: &ResolvedPlan,
    ) -> Result<Self, Failure> {
        let urls = exporters.len();
        let targets = plan.targets.len();
        if urls > 1 && urls != targets {
            return Err(Failure::usage(format!(
                "--server-metrics: {urls} exporters for {targets} targets: name one for all, or one for each"
            )));
        }
        let names = plan.targets.iter().map(|target| target.name.clone()).collect();
        let metrics = match prometheus {
            None => None,
            Some(at) => Some(
                Metrics::serve(at, names)
                    .map_err(|error| Failure::usage(format!("--prometheus {at}: {error}")))?,
            ),
        };
        let mut servers = Vec::new();
        for url in exporters {
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
