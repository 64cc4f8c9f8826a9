//! Options of a device model: service time, bandwidth, cache.

use std::time::Duration;

/// Service time of one request, before the transfer of its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceTime {
    /// Constant.
    Fixed(Duration),
    /// Exponentially distributed, as in M/M/c queues.
    Exponential {
        /// Its mean.
        mean: Duration,
        /// Seed of the sequence.
        seed: u64,
    },
    /// Log-normally distributed, like disks and flash under mixed load.
    LogNormal {
        /// Median.
        median: Duration,
        /// Standard deviation of the logarithm; 0.35 is typical.
        sigma: f64,
        /// Seed of the sequence.
        seed: u64,
    },
}

/// When a write is written to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WritePolicy {
    /// Write-through: every write needs the device, and its blocks are cached.
    #[default]
    Through,
    /// Write-back: writes go to the cache, and the device is needed for the eviction of a dirty block, for a commit,
    /// and for a durable write.
    Back,
}

/// The device's cache, which evicts the least recently used block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// Size in bytes; 0 caches nothing.
    pub bytes: u64,
    /// Bytes of a block; at least 512.
    pub block_bytes: u32,
    /// Handling of writes.
    pub writes: WritePolicy,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { bytes: 0, block_bytes: 4096, writes: WritePolicy::Through }
    }
}

/// Options of [`DeviceVolume`](crate::DeviceVolume): by default a device that takes no time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceOptions {
    /// Service time per request.
    pub service: ServiceTime,
    /// Service time of an operation on a name, for each entry of the directory that it searches: the cost of a directory
    /// without an index. With zero, names take no time.
    pub entry_time: Duration,
    /// Number of servers: requests that are served at the same time; at least 1.
    pub servers: usize,
    /// Bytes per second of the link that all servers share; with `None` a transfer takes no time.
    pub bytes_per_s: Option<u64>,
    /// The cache.
    pub cache: CacheOptions,
    /// Time before the end of a wait from which the thread spins instead of sleeping. Zero leaves the processor to
    /// others and is the better choice unless cores are idle.
    pub spin: Duration,
    /// Serve requests on the thread of their connection, one after another, instead of passing each to a worker thread.
    /// This saves wake-ups between socket and device, but allows one request in flight per thread.
    pub in_place: bool,
    /// Maximum number of logged requests; later ones are only counted.
    pub log_capacity: usize,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            service: ServiceTime::Fixed(Duration::ZERO),
            entry_time: Duration::ZERO,
            servers: 1,
            bytes_per_s: None,
            cache: CacheOptions::default(),
            spin: Duration::ZERO,
            in_place: false,
            log_capacity: 1 << 20,
        }
    }
}
