//! The options for cache probes: did the bytes of reads come from the server's cache or from its storage?

use clap::Args;
use sharebench_plan::{Bypass, CacheProbes, Cold};

use super::heading;

/// Cache probes of a sweep or a depth study (docs/measure/cache-probes.md).
#[derive(Debug, Args, Default)]
#[command(next_help_heading = heading::CACHES)]
pub struct CacheProbeFlags {
    /// Probe the server after each cell that reads, to estimate the shares of server cache and storage. COLD defines how
    /// records become cold on the server: a size (read this many bytes in between; more than the server can cache),
    /// `unbuffered` (SMB reads without the server's cache), or `pre-step-cmd` (the command of --pre-step-cmd empties the
    /// cache). Probes never count towards the time of the cell.
    #[arg(long, value_name = "COLD")]
    pub cache_probes: Option<Cold>,
    /// Probe the mounted target NAME over the protocol at URL, which must lead to the same directory. May be repeated.
    #[arg(long, value_name = "NAME=URL", requires = "cache_probes")]
    pub bypass: Vec<Bypass>,
}

impl CacheProbeFlags {
    /// The section of a plan with the same meaning.
    pub fn typed(&self) -> Option<CacheProbes> {
        Some(CacheProbes {
            cold: Some(self.cache_probes?),
            bypass: (!self.bypass.is_empty()).then(|| self.bypass.clone()),
            ..CacheProbes::default()
        })
    }
}
