//! The time of a whole run, with everything around the measured time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds::{Bounds, MAX_WALL};
use super::{CacheProbePlan, Cell, MetadataWork, RecordWork, ResolvedPlan, TransactionWork, Work};
use crate::values::{Cold, Start};
use crate::workload::Owner;

/// The slowest target for which the upper end of [`ResolvedPlan::wall_time`] holds.
///
/// How long a run takes depends on the target, which nobody has measured before the run. Most plans spend more time on
/// files than in their samples: a file is laid out anew whenever the record size changes, and one pass over it may take
/// longer than a sample. So the range is stated for targets that are at least this fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowestTarget {
    /// Time from a request to its reply.
    pub reply: Duration,
    /// Bytes per second.
    pub bytes_per_s: u64,
}

impl SlowestTarget {
    /// A home server over a slow network.
    pub const ASSUMED: Self = Self { reply: Duration::from_millis(2), bytes_per_s: 20_000_000 };

    /// Time of requests that follow one another and move this many bytes.
    fn time(self, requests: u64, bytes: u64) -> Duration {
        let bytes_ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_s.max(1));
        let requests_ns = self.reply.as_nanos() * u128::from(requests);
        Duration::from_nanos(u64::try_from(bytes_ns + requests_ns).unwrap_or(u64::MAX))
    }
}

/// Requests about names and handles around one pass over a file: make, open, drop caches, flush, close, remove.
const AROUND_A_PASS: u64 = 20;
/// Requests of a logon and a logoff.
const LOGON: u64 = 20;
/// Requests about names for one file of a data set: directories, making, closing, removing.
const AROUND_A_FILE: u64 = 8;
/// Requests about one entry of a directory: making, closing, looking at it, removing.
const AROUND_AN_ENTRY: u64 = 6;
/// Entries that one request of a listing returns at least.
const LISTED_PER_REQUEST: u64 = 20;
/// Times that a whole file is moved before a pass: read back after it was rewritten, laid out, used for the first time,
/// read before a test of rereads.
const PASSES_BEFORE: u64 = 4;
/// This machine: its own ceiling per kind of step, and connecting.
const ON_THIS_MACHINE: Duration = Duration::from_secs(2);
/// Requests of one triple of cache probes, with those that wake the server.
const PROBES_OF_A_TRIPLE: u64 = 12;
/// Requests of the second read of an unbuffered cold record.
const PROBES_OF_A_SECOND_READ: u64 = 2;

impl ResolvedPlan {
    /// Time from the first connection until everything is removed, except a pre-step command. The upper end holds for
    /// targets as fast as `slowest`: it includes logons, laying out files and data sets, first-use reads, a pass that
    /// outlasts its sample, cache probes, extensions, the steps of a search, and removal.
    pub fn wall_time(&self, slowest: SlowestTarget) -> Bounds<Duration> {
        let targets = self.targets.len() as u32;
        let cells: Duration = self.cells.iter().map(|cell| longest_cell(cell, slowest)).sum();
        let probes: Duration = self.cells.iter().map(|cell| self.longest_probes(cell, slowest)).sum();
        let cells = match self.repeat.budget {
            // The first round ends whatever it takes, and so does the last pair of steps.
            Some(budget) => {
                let last =
                    self.cells.iter().map(|cell| longest_cell(cell, slowest)).max().unwrap_or_default();
                (cells * targets).max(budget) + last * targets
            }
            None => cells * (self.repeat.most * targets),
        };
        // The data that displaces caches is written once per target.
        let laid = self.cells.iter().map(|cell| longest_displacing(cell, slowest)).max().unwrap_or_default();
        let around = slowest.time(LOGON + AROUND_A_FILE * self.cells.len() as u64, 0)
            + ON_THIS_MACHINE
            + laid
            + longest_filling(self, slowest);
        let loads: Duration = self.loads.iter().map(|cell| around_load(cell, slowest)).sum();
        let last = self.loads.last().map_or(Duration::ZERO, |cell| around_load(cell, slowest));
        let searched = last * self.most_searched();
        let loads = (loads + searched) * self.load_repetitions();
        let most = cells + self.extended_time() + (probes + around + loads) * targets;
        Bounds { least: self.measured_time().least, most }
    }

    /// The longest time of the cache probes of a cell, once per target.
    fn longest_probes(&self, (_, work): &Cell, slowest: SlowestTarget) -> Duration {
        let (Some(probes), Work::Records(work)) = (&self.cache_probes, work) else { return Duration::ZERO };
        if !CacheProbePlan::covers(work) {
            return Duration::ZERO;
        }
        let record = u64::from(work.record_size.max(1));
        let triples = probes.triples(work.record_size);
        let (pushed, again) = match probes.cold {
            Cold::PushedOut(size) => (size.0, 0),
            Cold::Unbuffered => (0, PROBES_OF_A_SECOND_READ),
            Cold::PreStepCommand => (0, 0),
        };
        // Each file is written once and read as often; the workload continues between the probes.
        let moved =
            2 * (probes.reserve(work.record_size) + CacheProbePlan::known_hot(work.record_size) + pushed);
        let reads = (PROBES_OF_A_TRIPLE + again) * triples;
        let requests = moved.div_ceil(record) + reads + LOGON;
        let probed = reads * record;
        slowest.time(requests, moved + probed) + whole_file(work, slowest) * PASSES_BEFORE as u32
    }
}

/// Every record of the cell's files once.
fn whole_file(work: &RecordWork, slowest: SlowestTarget) -> Duration {
    let records = work.file_size.div_ceil(u64::from(work.record_size.max(1)));
    let files = work.files_at_once();
    slowest.time(records * files + AROUND_A_PASS * files, work.file_size.saturating_mul(files))
}

/// The longest time of one repetition of a cell on one target.
fn longest_cell((_, work): &Cell, slowest: SlowestTarget) -> Duration {
    let work = match work {
        Work::Records(work) => work,
        Work::Metadata(work) => return longest_metadata_cell(work, slowest),
        Work::Transactions(_) => return Duration::ZERO,
    };
    let before = if work.test.start() == Start::Fresh { 1 } else { PASSES_BEFORE };
    let before = before + u64::from(work.is_warmed());
    // The last pass begins before the sample is full.
    work.min_sample_time * MAX_WALL
        + whole_file(work, slowest) * (before as u32 + 2)
        + displacing(work, slowest)
}

/// Time to write the data that displaces the server's cache before a cell.
fn longest_displacing((_, work): &Cell, slowest: SlowestTarget) -> Duration {
    if let Work::Records(work) = work { displacing(work, slowest) } else { Duration::ZERO }
}

/// Time to read the data that displaces the server's cache once.
fn displacing(work: &RecordWork, slowest: SlowestTarget) -> Duration {
    if work.displaced == 0 {
        return Duration::ZERO;
    }
    let requests = work.displaced / u64::from(work.request_size().max(1));
    slowest.time(requests + AROUND_A_PASS, work.displaced)
}

/// The longest time around the windows of a load step on one target: logons, the data set, the transactions in flight at
/// the end of each window, and removal.
fn around_load((_, work): &Cell, slowest: SlowestTarget) -> Duration {
    let Work::Transactions(work) = work else { return Duration::ZERO };
    let set = data_set(work, slowest);
    let users = u64::from(work.users);
    let windows = work.max_extensions + 1;
    slowest.time(LOGON * users, 0) + set + slowest_transaction(work, slowest) * windows
}

/// The longest time of one repetition of a metadata cell on one target: the last pass begins before the sample is full,
/// and every pass may make, remove and look at the entries that it works on.
fn longest_metadata_cell(work: &MetadataWork, slowest: SlowestTarget) -> Duration {
    let worked_on = work.operations_per_pass().saturating_mul(u64::from(work.jobs()));
    let requests = AROUND_AN_ENTRY.saturating_mul(worked_on.saturating_mul(2));
    let listed = work.total_entries() / LISTED_PER_REQUEST;
    let bytes = work.bytes_on_target().saturating_mul(2);
    work.min_sample_time * MAX_WALL + slowest.time(requests + listed + LOGON * u64::from(work.jobs()), bytes)
}

/// The longest time to fill and to remove the directories of metadata cells, each once.
fn longest_filling(plan: &ResolvedPlan, slowest: SlowestTarget) -> Duration {
    let works = plan.cells.iter().filter_map(|(_, work)| match work {
        Work::Metadata(work) => Some((work.directory_key(), work.total_entries())),
        Work::Records(_) | Work::Transactions(_) => None,
    });
    let directories: BTreeMap<_, u64> = works.collect();
    let entries = directories.values().fold(0u64, |sum, entries| sum.saturating_add(*entries));
    slowest.time(entries.saturating_mul(2 * AROUND_AN_ENTRY), 0)
}

/// The longest time to lay out and remove the shared files, and those of each user.
fn data_set(work: &TransactionWork, slowest: SlowestTarget) -> Duration {
    let workload = &work.workload;
    let block = u64::from(workload.largest_request().max(512));
    let users = u64::from(work.users);
    let mut requests = 0u64;
    let mut bytes = workload.bytes_on_target(work.users);
    for (index, file) in workload.set.files.iter().enumerate() {
        let shared = u64::from(file.owner == Owner::Shared && workload.needs(index));
        let own = if workload.has_own(index) { users } else { 0 };
        requests = requests.saturating_add((AROUND_A_FILE + file.bytes.div_ceil(block)) * (shared + own));
    }
    if let Some(replay) = &workload.loadfile {
        requests = requests.saturating_add(AROUND_A_FILE * users * replay.lines.len() as u64);
        bytes = bytes.saturating_add(replay.most_bytes.saturating_mul(users));
    }
    slowest.time(requests, bytes)
}

/// The longest transaction while all users are at work, which share the target.
fn slowest_transaction(work: &TransactionWork, slowest: SlowestTarget) -> Duration {
    let workload = &work.workload;
    let block = u64::from(workload.largest_request().max(512));
    let bytes = workload.set.files.iter().map(|file| file.bytes).max().unwrap_or(0);
    let users = u64::from(work.users);
    slowest.time((bytes.div_ceil(block) + AROUND_A_FILE) * users, bytes.saturating_mul(users))
}
