//! A cell of a sweep or of a depth study: one test at one position of its axes.

use std::time::Duration;

use sharebench_model::{CachePolicy, Coordinates, IoPolicy, SyncPolicy, Value, axis};

use super::plan::{Cell, Work};
use crate::values::{Access, Direction, Included, Pattern, Policies, ServerCacheState, Start, Test};

/// How jobs divide a file that they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileParts {
    /// Each job has a range of its own.
    Contiguous,
    /// The records of the jobs are interleaved: each job works on every n-th record.
    Interleaved,
}

/// One test on files of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWork {
    /// What to do.
    pub test: Test,
    /// Bytes of the file; a multiple of `record_size`.
    pub file_size: u64,
    /// Bytes per operation.
    pub record_size: u32,
    /// Operations in flight per job.
    pub queue_depth: u32,
    /// Least measured time; whole passes over the file are repeated until it is reached.
    pub min_sample_time: Duration,
    /// Jobs at work at once, over one common window; none for a single job that is measured by the
    /// time it had something in flight.
    pub jobs: Option<u32>,
    /// The jobs share one file, each working on a part of its own, instead of having a file each.
    pub shared_file: bool,
    /// How the jobs divide a shared file.
    pub parts: FileParts,
    /// What offsets are multiples of, in bytes; see [`Self::grid`].
    pub align: u64,
    /// Distance of the records of a strided read, in records.
    pub stride: u32,
    /// Percent of the records that a random mix reads.
    pub read_percent: u32,
    /// Buffer of a buffered stream, in bytes.
    pub stream_buffer: u32,
    /// Caches and durability of the measured files.
    pub policy: IoPolicy,
    /// State of the server's cache before each pass; the usual one for tests that do not depend on it.
    pub server_cache: ServerCacheState,
    /// Bytes of other data that are read before each pass of a cold cell; 0 where the pre-step command empties the cache.
    pub displaced: u64,
    /// The time of closing the file belongs to the test.
    pub include_close: bool,
    /// The time of a flush after the writes of each pass belongs to the test.
    pub include_flush: bool,
}

/// The offsets of the records of a file: `first`, `first + spacing`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Offset of the first record.
    pub first: u64,
    /// From one record's offset to the next one's.
    pub spacing: u64,
    /// How many there are; 0 when the file is too small for one.
    pub records: u64,
}

impl RecordWork {
    /// Distance of a strided read in records, as IOzone's.
    pub const STRIDE: u32 = 17;
    /// Percent of reads in a random mix.
    pub const READ_PERCENT: u32 = 50;
    /// Buffer of a stream, in bytes.
    pub const STREAM_BUFFER: u32 = 64 << 10;

    /// A cell at the usual position of every axis but these.
    pub fn new(test: Test, file_size: u64, record_size: u32, min_sample_time: Duration) -> Self {
        Self {
            test,
            file_size,
            record_size,
            queue_depth: 1,
            min_sample_time,
            jobs: None,
            shared_file: false,
            parts: FileParts::Contiguous,
            align: u64::from(record_size),
            stride: Self::STRIDE,
            read_percent: Self::READ_PERCENT,
            stream_buffer: Self::STREAM_BUFFER,
            policy: IoPolicy::default(),
            server_cache: ServerCacheState::Warm,
            displaced: 0,
            include_close: false,
            include_flush: false,
        }
    }

    /// Where its records lie. An alignment below the record size moves all records by itself, so that they
    /// straddle the multiples of their size; one above it leaves the rest of each multiple untouched.
    pub fn grid(&self) -> Grid {
        let record = u64::from(self.record_size);
        let first = if self.align < record { self.align } else { 0 };
        // Record size 0 is rejected later, after the cells have been laid out.
        let spacing = record.max(1).next_multiple_of(self.align.max(1));
        let after_first = self.file_size.checked_sub(first + record);
        Grid { first, spacing, records: after_first.map_or(0, |bytes| bytes / spacing + 1) }
    }

    /// Bytes of the largest request: the record, or the buffer of a stream.
    pub fn request_size(&self) -> u32 {
        if self.test.access() == Access::Stream { self.stream_buffer } else { self.record_size }
    }

    /// Lengths whose common divisors divide every offset and length of its requests, and the file.
    pub fn pieces(&self) -> [u64; 2] {
        let record = u64::from(self.record_size);
        [
            record,
            if self.test.access() == Access::Stream { u64::from(self.stream_buffer) } else { self.align },
        ]
    }

    /// What decides where its requests begin and end, by name and in bytes.
    pub fn boundaries(&self) -> [(&'static str, u64); 2] {
        let record = ("record", u64::from(self.record_size));
        match self.test.access() {
            Access::Stream => [("stream buffer", u64::from(self.stream_buffer)), ("file", self.file_size)],
            _ if self.align == record.1 => [record; 2],
            _ => [record, ("spacing of offsets", self.align)],
        }
    }

    /// Number of requests in `bytes` of complete passes.
    pub fn requests_in(&self, bytes: u64) -> u64 {
        if self.test.access() != Access::Stream {
            return bytes / u64::from(self.record_size.max(1));
        }
        let buffer = u64::from(self.stream_buffer.max(1));
        let passes = bytes / self.file_size.max(1);
        let rest = bytes % self.file_size.max(1);
        passes * self.file_size.div_ceil(buffer) + rest / buffer
    }

    /// True if the records of the jobs are interleaved in a shared file.
    pub fn is_interleaved(&self) -> bool {
        self.parts == FileParts::Interleaved
    }

    /// Files of `file_size` that the cell needs on its target.
    pub fn files_at_once(&self) -> u64 {
        if self.shared_file { 1 } else { u64::from(self.jobs.unwrap_or(1)) }
    }

    /// What the time includes in addition to the operations.
    fn included(&self) -> Option<&'static str> {
        match (self.include_flush, self.include_close) {
            (false, false) => None,
            (true, false) => Some("flush"),
            (false, true) => Some("close"),
            (true, true) => Some("flush+close"),
        }
    }

    /// The cell with each combination of `policies` that makes a difference for its test.
    pub(crate) fn with_each_policy(&self, policies: &Policies) -> Vec<Self> {
        let caches = policies.cache.as_deref().unwrap_or(&[]);
        // A test that does not write needs no sync policy and no flush.
        let writes = self.test.writes();
        let syncs = if writes { policies.sync.as_deref().unwrap_or(&[]) } else { &[SyncPolicy::Normal] };
        let include_close = policies.includes(Included::Close);
        let include_flush = policies.includes(Included::Flush) && writes;
        let with = |cache| syncs.iter().map(move |&sync| IoPolicy { cache, sync });
        let combinations = caches.iter().copied().flat_map(with);
        let works = combinations.map(|policy| Self { policy, include_close, include_flush, ..self.clone() });
        works.flat_map(|work| work.with_each_server_state(policies)).collect()
    }

    /// The cell with each state of the server's cache that makes a difference for it.
    fn with_each_server_state(self, policies: &Policies) -> Vec<Self> {
        let usual = [ServerCacheState::Warm];
        let states = if self.depends_on_server_cache() {
            policies.server_cache.as_deref().unwrap_or(&usual)
        } else {
            &usual
        };
        let displaced = policies.displace.map_or(0, |size| size.0);
        let with = |&server_cache| {
            let displaced = if server_cache == ServerCacheState::Cold { displaced } else { 0 };
            Self { server_cache, displaced, ..self.clone() }
        };
        states.iter().map(with).collect()
    }

    /// True if what the server's cache holds before a pass can differ: not of a new file, which no cache holds, nor of a
    /// file that was just read, nor without caches.
    fn depends_on_server_cache(&self) -> bool {
        matches!(self.test.start(), Start::AsItIs | Start::Cold)
            && self.policy.cache != CachePolicy::Unbuffered
    }

    /// True if the file is read once, unmeasured, before the first pass.
    pub fn is_warmed(&self) -> bool {
        self.server_cache == ServerCacheState::Warm && self.depends_on_server_cache()
    }

    /// True if a repetition has one pass only: the pre-step command, which runs once, made the cache cold.
    pub fn passes_once(&self) -> bool {
        self.server_cache == ServerCacheState::Cold && self.displaced == 0
    }

    /// The cell with its coordinates.
    pub(crate) fn into_cell(self) -> Cell {
        (self.coordinates(), Work::Records(self))
    }

    /// The coordinates of the cell: sizes, test and depth always, further axes where they are not at
    /// their default.
    pub fn coordinates(&self) -> Coordinates {
        let further = [
            (axis::JOBS, self.jobs.map(|jobs| Value::Count(u64::from(jobs)))),
            (
                axis::FILES,
                self.shared_file
                    .then(|| Value::text(if self.is_interleaved() { "interleaved" } else { "shared" })),
            ),
            (axis::ALIGN, (self.align != u64::from(self.record_size)).then_some(Value::Bytes(self.align))),
            (
                axis::STRIDE,
                (self.test.pattern() == Pattern::Stride && self.stride != Self::STRIDE)
                    .then(|| Value::Count(u64::from(self.stride))),
            ),
            (
                axis::READ_PERCENT,
                (self.test.direction() == Direction::Mix && self.read_percent != Self::READ_PERCENT)
                    .then(|| Value::Count(u64::from(self.read_percent))),
            ),
            (
                axis::STREAM_BUFFER,
                (self.test.access() == Access::Stream && self.stream_buffer != Self::STREAM_BUFFER)
                    .then(|| Value::Bytes(u64::from(self.stream_buffer))),
            ),
            (
                axis::CACHE,
                (self.policy.cache != CachePolicy::Normal).then(|| Value::text(self.policy.cache.name())),
            ),
            (
                axis::SYNC,
                (self.policy.sync != SyncPolicy::Normal).then(|| Value::text(self.policy.sync.name())),
            ),
            (
                axis::SERVER_CACHE,
                (self.server_cache != ServerCacheState::Warm).then(|| Value::text(self.server_cache.name())),
            ),
            (axis::INCLUDED, self.included().map(Value::text)),
        ];
        let coordinates = Coordinates::new()
            .with(axis::TEST, Value::text(self.test.name()))
            .with(axis::FILE_SIZE, Value::Bytes(self.file_size))
            .with(axis::RECORD_SIZE, Value::Bytes(u64::from(self.record_size)))
            .with(axis::QUEUE_DEPTH, Value::Count(u64::from(self.queue_depth)));
        let named = further.into_iter().filter_map(|(axis, value)| Some((axis, value?)));
        named.fold(coordinates, |coordinates, (axis, value)| coordinates.with(axis, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(file: u64, record: u32, align: u64) -> (u64, u64, u64) {
        let work = RecordWork { align, ..RecordWork::new(Test::Read, file, record, Duration::ZERO) };
        let Grid { first, spacing, records } = work.grid();
        assert!(records == 0 || first + (records - 1) * spacing + u64::from(record) <= file);
        (first, spacing, records)
    }

    #[test]
    fn records_lie_where_their_alignment_says() {
        assert_eq!(grid(65536, 4096, 4096), (0, 4096, 16));
        assert_eq!(grid(65536, 4096, 512), (512, 4096, 15), "moved by 512, the last one would not fit");
        assert_eq!(grid(65536, 4096, 16384), (0, 16384, 4));
        assert_eq!(grid(65536, 4096, 6000), (0, 6000, 11));
        assert_eq!(grid(8000, 1000, 600), (600, 1200, 6));
        assert_eq!(grid(4096, 4096, 512), (512, 4096, 0), "no record fits");
    }

    #[test]
    fn only_unusual_positions_are_named() {
        let usual = RecordWork::new(Test::StrideRead, 65536, 4096, Duration::ZERO);
        assert_eq!(
            usual.coordinates().to_string(),
            "file_size=64KiB queue_depth=1 record_size=4KiB test=stride-read"
        );
        let far = RecordWork { stride: 3, align: 512, jobs: Some(4), shared_file: true, ..usual };
        let far = far.coordinates().to_string();
        for part in ["align=512B", "stride=3", "jobs=4", "files=shared"] {
            assert!(far.contains(part), "{far}");
        }
        assert!(!far.contains("read_percent") && !far.contains("stream_buffer"));
    }
}
