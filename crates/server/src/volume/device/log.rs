//! The log of a device, request by request: the known truth that measurements are compared with.

use crate::NodeId;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceRequest {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A commit.
    Commit,
    /// The search of a directory for a name.
    Search,
}

/// One request. Instants are nanoseconds since [`DeviceVolume::origin`](crate::DeviceVolume::origin).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRecord {
    /// The instant at which the request arrived.
    pub received_ns: u64,
    /// The instant at which the model completed the request, computed exactly.
    pub due_ns: u64,
    /// The instant at which this machine answered the request; never before `due_ns`.
    pub ended_ns: u64,
    /// Service time of the device, without queueing and transfer; 0 for a hit.
    pub service_ns: u64,
    /// The file, or the directory that was searched.
    pub node: NodeId,
    /// First byte.
    pub offset: u64,
    /// Bytes read or written, or entries of the directory that was searched.
    pub len: u64,
    /// Kind of the request.
    pub request: DeviceRequest,
    /// True if the cache answered it.
    pub hit: bool,
}

/// Sums over all requests since the start or the last [`DeviceVolume::take_log`](crate::DeviceVolume::take_log).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Commits.
    pub commits: u64,
    /// Searches of directories that took time.
    pub searches: u64,
    /// Requests that the cache answered.
    pub hits: u64,
    /// Requests that needed the device.
    pub misses: u64,
    /// Bytes read by clients.
    pub read_bytes: u64,
    /// Of these, bytes of requests that hit.
    pub hit_read_bytes: u64,
    /// Bytes written by clients.
    pub written_bytes: u64,
    /// Bytes moved between cache and device.
    pub device_bytes: u64,
    /// Requests that were only counted because the log was full.
    pub not_logged: u64,
}

/// Records up to a limit, and sums over all requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceLog {
    /// The first requests, in the order in which they were answered.
    pub records: Vec<DeviceRecord>,
    /// Sums over all requests.
    pub counters: DeviceCounters,
}

impl DeviceLog {
    /// Records a request that moved `device_bytes`.
    pub(super) fn enter(&mut self, record: DeviceRecord, device_bytes: u64, capacity: usize) {
        let counters = &mut self.counters;
        match record.request {
            DeviceRequest::Read => {
                counters.reads += 1;
                counters.read_bytes += record.len;
                counters.hit_read_bytes += if record.hit { record.len } else { 0 };
            }
            DeviceRequest::Write => {
                counters.writes += 1;
                counters.written_bytes += record.len;
            }
            DeviceRequest::Commit => counters.commits += 1,
            DeviceRequest::Search => counters.searches += 1,
        }
        *(if record.hit { &mut counters.hits } else { &mut counters.misses }) += 1;
        counters.device_bytes += device_bytes;
        if self.records.len() < capacity {
            self.records.push(record);
        } else {
            counters.not_logged += 1;
        }
    }
}
