//! Flags that ask where the bytes of reads came from: client cache, server cache or storage.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Bypass, CacheProbes, Cold};

/// Cache bands (docs/comparisons.md).
#[derive(Debug, Args, Default)]
pub struct CacheProbeFlags {
    /// Look behind each cell that reads, for the shares of server cache and storage. COLD says what makes records cold
    /// on the server: a size above what it can cache (so much is read in between), `unbuffered` (SMB reads that ask
    /// for no cache), or `pre-step-cmd` (the command of --pre-step-cmd empties the cache).
    #[arg(long, value_name = "COLD")]
    pub cache_probes: Option<Cold>,
    /// Triples of probes per cell [default: 300; fewer for records above 128KiB].
    #[arg(long, value_name = "N", requires = "cache_probes")]
    pub probe_count: Option<u32>,
    /// How far ahead of the workload probes look, in bytes that it will read first: more than the server reads ahead
    /// [default: 8MiB].
    #[arg(long, value_name = "SIZE", requires = "cache_probes")]
    pub probe_distance: Option<ByteSize>,
    /// File on this machine in which the server's system counts what its storage read: /sys/block/DISK/stat, or the
    /// io.stat of a control group. Storage's share then rests on it.
    #[arg(long, value_name = "FILE", requires = "cache_probes")]
    pub server_disk_stat: Option<String>,
    /// For a mounted path: the same directory straight over a protocol, for the probes; NAME is the target's.
    #[arg(long, value_name = "NAME=URL", requires = "cache_probes")]
    pub bypass: Vec<Bypass>,
}

impl CacheProbeFlags {
    /// The same as a plan's section would say it.
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
