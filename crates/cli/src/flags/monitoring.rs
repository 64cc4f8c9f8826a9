//! The options that make a run observable from outside, and the server observable during a run.

use std::net::SocketAddr;

use clap::Args;

use crate::monitoring::prometheus::address;
use crate::monitoring::server_metrics::ExporterUrl;

/// Flags of every command that measures.
#[derive(Debug, Clone, Default, Args)]
pub struct MonitoringFlags {
    /// Serve the run's metrics for Prometheus while it runs, at /metrics; on 127.0.0.1 unless an address is given.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
    /// Ask a Prometheus exporter on the server (`node_exporter`, `windows_exporter`, or one of the server process) once a
    /// second how busy its processors are; one for all targets or one for each, in their order.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub server_metrics: Vec<ExporterUrl>,
}
