//! The options for cache probes: did the bytes of reads come from the server's cache or from its storage?

use clap::Args;
use sharebench_model::units::ByteSize;
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
    /// Number of probe triples per cell [default: 300; fewer for records above 128KiB].
    #[arg(long, value_name = "N", requires = "cache_probes")]
    pub probe_count: Option<u32>,
    /// Maximum distance of the probes ahead of the workload. Each probe draws its distance, down to a sixteenth of this.
    /// It must exceed the read-ahead of the server [default: 16MiB; at most half of the file].
    #[arg(long, value_name = "SIZE", requires = "cache_probes")]
    pub probe_distance: Option<ByteSize>,
    /// File on this machine that counts the reads of the server's storage: /sys/block/DISK/stat, or io.stat of a control
    /// group. The share of storage then comes from this counter.
    #[arg(long, value_name = "FILE", requires = "cache_probes")]
    pub server_disk_stat: Option<String>,
    /// Probe the mounted target NAME over the protocol at URL, which must lead to the same directory. May be repeated.
    #[arg(long, value_name = "NAME=URL", requires = "cache_probes")]
    pub bypass: Vec<Bypass>,
}

impl CacheProbeFlags {
    /// The section of a plan with the same meaning.
    pub fn typed(&self) -> Option<CacheProbes> {
        Some(CacheProbes {
            cold: Some(self.cache_probes?),
            count: self.probe_count,
            distance: self.probe_distance,
            server_disk_stat: self.server_disk_stat.clone(),
            bypass: (!self.bypass.is_empty()).then(|| self.bypass.clone()),
        })
    }
}
