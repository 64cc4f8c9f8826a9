//! A model of a storage device, with known service times, in front of any volume.

mod cache;
mod log;
mod options;
mod searches;
mod service;
mod service_queue;
mod volume;
mod wait;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::volume::device::cache::BlockCache;
pub use crate::volume::device::log::{DeviceCounters, DeviceLog, DeviceRecord, DeviceRequest};
pub use crate::volume::device::options::{CacheOptions, DeviceOptions, ServiceTime, WritePolicy};
use crate::volume::device::searches::EntryCounts;
use crate::volume::device::service::Services;
use crate::volume::device::service_queue::ServiceQueue;
use crate::volume::device::wait::wait_until;
use crate::{NodeId, Volume};

/// A volume whose reads and writes take the time of a modelled device.
///
/// A request is classified when it arrives. If all of its blocks are in the cache it is a hit and takes no time;
/// otherwise it waits for one of the servers, occupies it for the service time, and then transfers its bytes over the
/// only link. For a given order of requests, hits, misses and service times are always the same. The queue is
/// computed exactly, so that a late wake-up of one request does not delay the next. An operation on a name occupies a
/// server for [`DeviceOptions::entry_time`] per entry of the directory that it searches, and attributes take no time.
/// The log has, for each request, when it was due and when it was executed, so that tests can compare a measurement
/// with the truth.
///
/// ```
/// use std::time::Duration;
/// use sharebench_server::{DeviceOptions, DeviceVolume, MemoryVolume, ROOT, ServiceTime, Volume};
/// # fn main() -> Result<(), sharebench_server::VolumeError> {
/// let service = ServiceTime::Fixed(Duration::from_millis(2));
/// let options = DeviceOptions { service, ..DeviceOptions::default() };
/// let volume = DeviceVolume::new(MemoryVolume::new(1 << 20), options);
/// let file = volume.create(ROOT, "file", 0o644)?.node;
/// volume.write(file, 0, b"two milliseconds", false)?;
/// let record = volume.log().records[0];
/// assert_eq!(record.due_ns - record.received_ns, 2_000_000);
/// assert!(record.ended_ns >= record.due_ns);
/// # Ok(())
/// # }
/// ```
pub struct DeviceVolume<V> {
    inner: V,
    options: DeviceOptions,
    origin: Instant,
    device: Mutex<Device>,
    log: Mutex<DeviceLog>,
    entries: EntryCounts,
}

/// The state that changes with every request.
struct Device {
    cache: BlockCache,
    services: Services,
    queue: ServiceQueue,
}

/// Work that a request causes at the device.
#[derive(Debug, Clone, Copy)]
struct Work {
    hit: bool,
    operations: u64,
    bytes: u64,
}

impl<V> DeviceVolume<V> {
    /// Puts a device in front of `inner`.
    pub fn new(inner: V, options: DeviceOptions) -> Self {
        let device = Device {
            cache: BlockCache::new(options.cache.bytes, options.cache.block_bytes),
            services: Services::new(options.service),
            queue: ServiceQueue::new(options.servers, options.bytes_per_s),
        };
        let device = Mutex::new(device);
        let log = Mutex::default();
        Self { inner, options, origin: Instant::now(), device, log, entries: EntryCounts::default() }
    }

    /// Origin of the instants in the log.
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Options of the model.
    pub fn options(&self) -> &DeviceOptions {
        &self.options
    }

    /// The volume that holds the data.
    pub fn inner(&self) -> &V {
        &self.inner
    }

    /// Empties the cache, as an administrator would between runs. Dirty blocks count as written and take no
    /// time.
    pub fn purge(&self) {
        self.lock_device().cache.purge();
    }

    /// Keeps all servers busy for another `pause`, as a controller that hangs does. Requests that arrive in the
    /// meantime wait in the queue and are then served in order.
    pub fn stall(&self, pause: Duration) {
        let pause_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        let mut device = self.lock_device();
        let now_ns = self.now_ns();
        device.queue.stall(now_ns, pause_ns);
    }

    /// A copy of the log.
    pub fn log(&self) -> DeviceLog {
        self.lock_log().clone()
    }

    /// The sums.
    pub fn counters(&self) -> DeviceCounters {
        self.lock_log().counters
    }

    /// Takes the log and starts a new one.
    pub fn take_log(&self) -> DeviceLog {
        std::mem::take(&mut *self.lock_log())
    }

    fn lock_device(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_log(&self) -> MutexGuard<'_, DeviceLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Performs the work that `classify` determines: queues it, waits until it is due, and logs it.
    fn serve(
        &self,
        request: DeviceRequest,
        node: NodeId,
        offset: u64,
        len: u64,
        classify: impl FnOnce(&mut BlockCache) -> Work,
    ) {
        // One lock for clock, cache, random numbers and queue, so that all of them see the same order of arrival.
        let mut device = self.lock_device();
        let received_ns = self.now_ns();
        let work = classify(&mut device.cache);
        let service_ns = (0..work.operations).map(|_| device.services.draw()).sum();
        let needs_device = work.operations > 0;
        let due_ns =
            if needs_device { device.queue.admit(received_ns, service_ns, work.bytes) } else { received_ns };
        drop(device);
        if needs_device {
            // Waits until the computed instant and not for the service time: a late wake-up then delays this
            // request only, and not the queue.
            wait_until(self.origin + Duration::from_nanos(due_ns), self.options.spin);
        }
        let ended_ns = self.now_ns();
        let hit = work.hit;
        let record =
            DeviceRecord { received_ns, due_ns, ended_ns, service_ns, node, offset, len, request, hit };
        self.lock_log().enter(record, work.bytes, self.options.log_capacity);
    }
}

impl<V: Volume> DeviceVolume<V> {
    /// Searches a directory for a name, which takes time if the model has linear directories.
    fn search(&self, directory: NodeId) {
        let entry_ns = u64::try_from(self.options.entry_time.as_nanos()).unwrap_or(u64::MAX);
        if entry_ns == 0 {
            return;
        }
        let entries = self.entries.count(&self.inner, directory);
        let mut device = self.lock_device();
        let received_ns = self.now_ns();
        let service_ns = entry_ns.saturating_mul(entries);
        let due_ns = device.queue.admit(received_ns, service_ns, 0);
        drop(device);
        wait_until(self.origin + Duration::from_nanos(due_ns), self.options.spin);
        let record = DeviceRecord {
            received_ns,
            due_ns,
            ended_ns: self.now_ns(),
            service_ns,
            node: directory,
            offset: 0,
            len: entries,
            request: DeviceRequest::Search,
            hit: false,
        };
        self.lock_log().enter(record, 0, self.options.log_capacity);
    }
}
