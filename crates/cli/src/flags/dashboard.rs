//! The option that shows a run in the browser.

#[cfg(feature = "pages")]
use std::net::SocketAddr;

use clap::Args;

#[cfg(feature = "pages")]
use super::heading;
#[cfg(feature = "pages")]
use crate::monitoring::prometheus::address;

/// The dashboard of commands that measure (docs/measure/reports.md).
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct DashboardFlags {
    /// Show the run in the browser of this machine, and the report at its end: print the address of the page. On a
    /// terminal, serve the report until Ctrl-C; otherwise end when open pages have loaded it, after at most 5 s. Only
    /// loopback addresses [default: a free port of 127.0.0.1].
    #[cfg(feature = "pages")]
    #[arg(long, value_name = "[ADDRESS:]PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = address, help_heading = heading::MONITORING)]
    pub dashboard: Option<SocketAddr>,
}
