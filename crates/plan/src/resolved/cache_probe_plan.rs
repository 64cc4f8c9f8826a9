//! Cache probes as a run makes them, complete and valid.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::RecordWork;
use crate::values::{Access, Bypass, Cold, Direction};

/// The section complete and valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheProbePlan {
    /// What makes the reserve cold.
    pub cold: Cold,
    /// Triples of probes per cell; fewer where records are large, see [`Self::triples`].
    pub count: u32,
    /// How far ahead of the workload probes look at most, in bytes that it reads before.
    pub distance: u64,
    /// Where the server's storage reads are counted.
    pub server_disk_stat: Option<PathBuf>,
    /// Paths that bypass the client cache of mounted targets.
    pub bypass: Vec<Bypass>,
}

impl CacheProbePlan {
    /// Default number of triples.
    pub const COUNT: u32 = 300;
    /// Minimum number of triples for an estimate.
    pub const FEWEST: u32 = 60;
    /// Default maximum probe distance in bytes: twice of what servers read ahead at most, so that a group of probes looks
    /// beyond it.
    pub const DISTANCE: u64 = 16 << 20;
    /// From the maximum down to the minimum probe distance: four octaves, so that read-ahead or eviction within the
    /// range changes what the nearer and the farther probes find.
    const DISTANCE_RATIO: u64 = 16;
    /// Minimum of the maximum probe distance in records, where the file has that many.
    const RECORDS_DISTANCE: u64 = 64;
    /// Maximum probe distance as a part of the file. A record that lies farther ahead may be read by the workload
    /// before it is due.
    const FILE_PART: u64 = 2;
    /// Bytes from one cold record to the next, so that the server does not read it with its neighbour.
    const APART: u64 = 128 << 10;
    /// Maximum bytes of the file with the cold records of a cell.
    const RESERVE: u64 = 64 << 20;
    /// Bytes of a file that is known to be in the server's cache.
    pub const KNOWN_HOT: u64 = 1 << 20;

    /// True for cells whose reads can be followed: requests of one user that only reads, in the state in which the
    /// workload itself leaves the server. Other data is not displaced between probes.
    pub fn covers(work: &RecordWork) -> bool {
        work.displaced == 0
            && work.test.direction() == Direction::Read
            && work.test.access() == Access::Request
            && work.jobs.is_none()
    }

    /// Bytes from one cold record of this size to the next.
    pub fn apart(record: u32) -> u64 {
        u64::from(record).max(Self::APART.next_multiple_of(u64::from(record.max(1))))
    }

    /// Triples of a cell with this record size.
    pub fn triples(&self, record: u32) -> u64 {
        u64::from(self.count).min((Self::RESERVE / Self::apart(record)).max(u64::from(Self::FEWEST)))
    }

    /// How far ahead of the workload the probes of a cell look, in records that it reads before.
    ///
    /// Each probe draws its distance from this range. A record that is cold so far ahead will come from storage; one
    /// that is in the cache may have been read ahead by the server, or may be evicted before it is due. Only a share
    /// that does not depend on the distance is therefore the share of the workload's own reads.
    pub fn distances(&self, work: &RecordWork) -> RangeInclusive<u64> {
        let wanted = self.distance.div_ceil(u64::from(work.record_size.max(1))).max(Self::RECORDS_DISTANCE);
        let most = wanted.min(work.grid().records / Self::FILE_PART).max(1);
        (most / Self::DISTANCE_RATIO).max(1)..=most
    }

    /// Bytes of the file of cold records.
    pub fn reserve(&self, record: u32) -> u64 {
        self.triples(record) * Self::apart(record)
    }

    /// Bytes of the file known to be cached.
    pub fn known_hot(record: u32) -> u64 {
        Self::KNOWN_HOT.next_multiple_of(u64::from(record.max(1)))
    }

    /// Bytes that a target needs in addition to those of the cells.
    pub(crate) fn bytes_needed(&self, record: u32) -> u64 {
        let pushed = if let Cold::PushedOut(size) = self.cold { size.0 } else { 0 };
        self.reserve(record) + Self::known_hot(record) + pushed
    }
}
