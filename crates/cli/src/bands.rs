//! Flags that ask where the bytes of reads came from: client cache, server cache or storage.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Bands, Cold, Side};

/// Cache bands (docs/comparisons.md).
#[derive(Debug, Args, Default)]
pub struct BandFlags {
    /// Look behind each cell that reads, for the shares of server cache and storage. COLD says what makes records cold
    /// on the server: a size above what it can cache (so much is read in between), `unbuffered` (SMB reads that ask
    /// for no cache), or `between` (the command of --between empties the cache).
    #[arg(long, value_name = "COLD")]
    pub bands: Option<Cold>,
    /// Triples of probes per cell [default: 300; fewer for records above 128KiB].
    #[arg(long, value_name = "N", requires = "bands")]
    pub band_probes: Option<u32>,
    /// How far ahead of the workload probes look, in bytes that it will read first: more than the server reads ahead
    /// [default: 8MiB].
    #[arg(long, value_name = "SIZE", requires = "bands")]
    pub band_ahead: Option<ByteSize>,
    /// File on this machine in which the server's system counts what its storage read: /sys/block/DISK/stat, or the
    /// io.stat of a control group. Storage's share then rests on it.
    #[arg(long, value_name = "FILE", requires = "bands")]
    pub server_disk: Option<String>,
    /// For a mounted path: the same directory straight over a protocol, for the probes; NAME is the target's.
    #[arg(long, value_name = "NAME=URL", requires = "bands")]
    pub side: Vec<Side>,
}

impl BandFlags {
    /// The same as a plan's section would say it.
    pub fn typed(&self) -> Option<Bands> {
        Some(Bands {
            cold: Some(self.bands?),
            probes: self.band_probes,
            ahead: self.band_ahead,
            disk_counter: self.server_disk.clone(),
            side: (!self.side.is_empty()).then(|| self.side.clone()),
        })
    }
}
