//! The options that make a run observable, and the servers of its targets.

#[cfg(feature = "pages")]
use std::net::SocketAddr;

use clap::Args;
use sharebench_plan::ResolvedPlan;

use super::dashboard::DashboardFlags;
use super::heading;
use crate::exit::Failure;
use crate::monitoring::Monitoring;
#[cfg(feature = "pages")]
use crate::monitoring::prometheus::address;
use crate::monitoring::server_metrics::ExporterUrl;

/// Monitoring of a run and of servers (docs/measure/loads.md).
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::MONITORING)]
pub struct MonitoringFlags {
    /// Serve metrics of the run for Prometheus at /metrics until the run ends. Without an address, listen on 127.0.0.1.
    #[cfg(feature = "pages")]
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
    /// Read the CPU load of the server once per second from a Prometheus exporter (`node_exporter`, `windows_exporter`, or
    /// one of the server process). Give one URL for all targets, or one per target in their order.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub server_metrics: Vec<ExporterUrl>,
    #[command(flatten)]
    pub dashboard: DashboardFlags,
}

impl MonitoringFlags {
    /// Starts the monitoring of a run.
    pub fn open(&self, plan: &ResolvedPlan) -> Result<Monitoring, Failure> {
        let monitoring = Monitoring::open(&self.server_metrics, plan)?;
        #[cfg(feature = "pages")]
        let monitoring = match self.prometheus {
            Some(address) => monitoring.served(address, plan)?,
            None => monitoring,
        };
        Ok(monitoring)
    }
}
