//! Counters of a mount, as Linux prints them (`net/sunrpc/stats.c`, `include/linux/nfs_iostat.h`), and their differences.

/// The differences of these counters; the function returns none if one of them went backwards.
macro_rules! difference {
    ($later:expr, $earlier:expr, { $($field:ident),* } $(, $other:ident: $value:expr)?) => {
        Some(Self {
            $($field: $later.$field.checked_sub($earlier.$field)?,)*
            $($other: $value,)?
        })
    };
}

/// What was done by one kind of operation since the mount.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Operations that ended.
    pub operations: u64,
    /// Requests that were sent: more than operations where some were sent again.
    pub transmissions: u64,
    /// Requests without a reply in time.
    pub timeouts: u64,
    /// Bytes of requests with their headers.
    pub bytes_sent: u64,
    /// Bytes of replies with their headers.
    pub bytes_received: u64,
    /// Time before requests were sent, ms.
    pub queue_ms: u64,
    /// Time from requests to their replies, ms.
    pub rtt_ms: u64,
    /// Time from the beginning to the end of operations, ms.
    pub execute_ms: u64,
    /// Operations that ended with an error; none where the kernel does not count them.
    pub errors: Option<u64>,
}

impl Counters {
    /// Reads the numbers after the name of an operation: 8, or 9 with errors.
    pub(super) fn new(numbers: &[u64]) -> Option<Self> {
        Some(Self {
            operations: *numbers.first()?,
            transmissions: *numbers.get(1)?,
            timeouts: *numbers.get(2)?,
            bytes_sent: *numbers.get(3)?,
            bytes_received: *numbers.get(4)?,
            queue_ms: *numbers.get(5)?,
            rtt_ms: *numbers.get(6)?,
            execute_ms: *numbers.get(7)?,
            errors: numbers.get(8).copied(),
        })
    }

    /// What was added since an earlier snapshot; none if a counter went backwards.
    pub(super) fn since(&self, earlier: &Self) -> Option<Self> {
        let errors = match self.errors {
            Some(errors) => Some(errors.checked_sub(earlier.errors.unwrap_or(0))?),
            None => None,
        };
        difference!(
            self,
            earlier,
            {
                operations, transmissions, timeouts, bytes_sent, bytes_received, queue_ms, rtt_ms, execute_ms
            },
            errors: errors
        )
    }
}

/// Bytes of a mount since it was mounted (`bytes:`).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// Read by programs through the cache of the client.
    pub normal_read: u64,
    /// Written by programs through the cache.
    pub normal_written: u64,
    /// Read with `O_DIRECT`.
    pub direct_read: u64,
    /// Written with `O_DIRECT`.
    pub direct_written: u64,
    /// Delivered by the server.
    pub server_read: u64,
    /// Sent to the server.
    pub server_written: u64,
}

impl Bytes {
    /// Reads the numbers of a line; those after the sixth are pages.
    pub(super) fn new(numbers: &[u64]) -> Option<Self> {
        let [normal_read, normal_written, direct_read, direct_written, server_read, server_written, ..] =
            *numbers
        else {
            return None;
        };
        Some(Self { normal_read, normal_written, direct_read, direct_written, server_read, server_written })
    }

    pub(super) fn since(&self, earlier: &Self) -> Option<Self> {
        difference!(self, earlier, {
            normal_read, normal_written, direct_read, direct_written, server_read, server_written
        })
    }

    /// The share of reads through the cache that the cache answered, 0 to 1. None where there were none, and where the server
    /// delivered more than programs read, as with read-ahead and files that are mapped into memory.
    pub fn client_cache_share(&self) -> Option<f64> {
        let fetched = self.server_read.saturating_sub(self.direct_read);
        (self.normal_read > 0 && fetched <= self.normal_read)
            .then(|| 1.0 - fetched as f64 / self.normal_read as f64)
    }
}

/// Events of a mount since it was mounted (`events:`), as far as the report has them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Events {
    /// Opens by programs.
    pub opens: u64,
    /// Files that were removed while they were open, and were renamed instead.
    pub silly_renames: u64,
    /// Reads of which the server delivered a part.
    pub short_reads: u64,
    /// Writes of which the server took a part.
    pub short_writes: u64,
    /// Replies that ordered the client to wait (JUKEBOX, DELAY).
    pub delays: u64,
}

impl Events {
    /// Reads the numbers of a line, by their places in `enum nfs_stat_eventcounters`.
    pub(super) fn new(numbers: &[u64]) -> Option<Self> {
        Some(Self {
            opens: *numbers.get(4)?,
            silly_renames: *numbers.get(21)?,
            short_reads: *numbers.get(22)?,
            short_writes: *numbers.get(23)?,
            delays: *numbers.get(24)?,
        })
    }

    pub(super) fn since(&self, earlier: &Self) -> Option<Self> {
        difference!(self, earlier, { opens, silly_renames, short_reads, short_writes, delays })
    }
}

/// A mount in a snapshot. Names of servers and directories are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Hash of the export.
    pub(super) device: u64,
    /// Hash of the export, the directory and the number of the mount among those with the same two.
    pub(super) identity: u64,
    /// Such as `nfs4.1`.
    pub(super) protocol: String,
    /// Since the mount, s.
    pub(super) age_s: u64,
    pub(super) events: Events,
    pub(super) bytes: Bytes,
    /// By name, in the order of the snapshot.
    pub(super) operations: Vec<(String, Counters)>,
}

impl Mount {
    /// The counters of an operation.
    pub(super) fn counters(&self, name: &str) -> Option<&Counters> {
        self.operations.iter().find(|(other, _)| other == name).map(|(_, counters)| counters)
    }

    /// True for one file system that is mounted on two directories: its counters are printed twice.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.device == other.device
            && self.protocol == other.protocol
            && self.age_s == other.age_s
            && self.events == other.events
            && self.bytes == other.bytes
            && self.operations == other.operations
    }
}
