//! What a device model does: how long it takes, how much it carries, what it caches.

use std::time::Duration;

/// How long the device works on one request, before the transfer of its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceTime {
    /// Always the same.
    Fixed(Duration),
    /// Exponentially distributed, as in M/M/c queues.
    Exponential {
        /// Its mean.
        mean: Duration,
        /// Same seed, same sequence.
        seed: u64,
    },
    /// Log-normally distributed, as of disks and flash under mixed load.
    LogNormal {
        /// Half of the requests take less.
        median: Duration,
        /// Standard deviation of the logarithm; 0.35 is typical.
        sigma: f64,
        /// Same seed, same sequence.
        seed: u64,
    },
}

/// When a write reaches the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WritePolicy {
    /// Every write pays the device, and its blocks are cached.
    #[default]
    Through,
    /// Writes go to the cache; the device is paid when a dirty block must leave, on commit, and at once
    /// for durable writes.
    Back,
}

/// The device's cache: least recently used blocks leave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// Size in bytes; 0 caches nothing.
    pub bytes: u64,
    /// Bytes of a block; at least 512.
    pub block_bytes: u32,
    /// What writes do.
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
    /// Time of work per request.
    pub service: ServiceTime,
    /// Requests it works on at the same time; at least 1.
    pub servers: usize,
    /// Bytes per second of the one link behind all servers; `None` takes no time.
    pub bytes_per_s: Option<u64>,
    /// What is answered without the device.
    pub cache: CacheOptions,
    /// How long before the end of a wait to stop sleeping and spin. Zero lets others have the processor,
    /// and is the better choice unless cores are idle.
    pub spin: Duration,
    /// Work on requests on the thread of their connection, one after the other, instead of handing each to a
    /// thread that may wait: no wake-ups between socket and device, but one request in flight per thread.
    pub in_place: bool,
    /// Requests logged at most; later ones are only counted.
    pub log_capacity: usize,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            service: ServiceTime::Fixed(Duration::ZERO),
            servers: 1,
            bytes_per_s: None,
            cache: CacheOptions::default(),
            spin: Duration::ZERO,
            in_place: false,
            log_capacity: 1 << 20,
        }
    }
}
