//! Open files of all connections: share modes and locked byte ranges (docs/protocols/ncp.md 3.2, 3.3).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::mutex::lock;
use super::state_budget::StateBudget;
use super::volume::{VolumeNode, VolumeResult};
use super::waiting_requests::WaitingRequests;
use crate::wire::Completion;
use crate::wire::dos::access;

/// The largest number of locked ranges of a file; every access to the file is compared with all of them.
const MAX_RECORDS: usize = 2048;

/// Identity of a connection, unique in the life of the server.
pub type OwnerId = u64;

/// A range of bytes, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// A range that is not empty; a range beyond 64 bits ends at the largest offset.
    pub const fn new(start: u64, length: u64) -> Option<Self> {
        if length == 0 {
            return None;
        }
        // Stored with its last byte, so that a range up to the end of the 64-bit space needs no special case.
        Some(Self { first: start, last: start.saturating_add(length - 1) })
    }

    const fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A lock on a byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLock {
    /// Connection that holds it.
    pub owner: OwnerId,
    /// Number of the file handle that locked it.
    pub file: u32,
    /// The locked range.
    pub bytes: ByteRange,
    /// True for a shared lock: others may read and lock shared, but not write.
    pub shared: bool,
}

/// Number of opens of a file in each way; see [`ways`].
type Counts = [u32; 6];

/// The ways in which an open counts: read, write, deny read, deny write, compatibility mode, and compatibility mode
/// for writing.
fn ways(bits: u16) -> [bool; 6] {
    let has = |bit: u16| bits & bit != 0;
    let compatible = has(access::COMPATIBILITY);
    [
        has(access::READ),
        has(access::WRITE),
        has(access::DENY_READ),
        has(access::DENY_WRITE),
        compatible,
        compatible && has(access::WRITE),
    ]
}

/// Opens and locks of one file.
#[derive(Debug, Default)]
struct FileUse {
    total: Counts,
    /// Counts per connection, sorted by owner.
    owners: Vec<(OwnerId, Counts)>,
    records: Vec<RecordLock>,
}

impl FileUse {
    fn owner_index(&self, owner: OwnerId) -> Result<usize, usize> {
        self.owners.binary_search_by_key(&owner, |(known, _)| {
            #[cfg(test)]
            tests::EXAMINED.set(tests::EXAMINED.get() + 1);
            *known
        })
    }

    /// Counts of all connections except `owner`.
    fn foreign(&self, owner: OwnerId) -> Counts {
        let mut foreign = self.total;
        if let Ok(at) = self.owner_index(owner) {
            for (count, own) in foreign.iter_mut().zip(self.owners[at].1) {
                *count -= own;
            }
        }
        foreign
    }

    /// True when an open with this access conflicts with existing opens. Deny bits apply to every other handle.
    /// Compatibility mode applies to other connections only: it denies them writing, and also reading if the open
    /// writes.
    fn clashes(&self, owner: OwnerId, bits: u16) -> bool {
        let [reads, writes, denies_reading, denies_writing, compatible, compatible_writes] = ways(bits);
        let [readers, writers, denying_reading, denying_writing, ..] = self.total;
        let [others_read, others_write, _, _, others_compatible, others_compatible_write] =
            self.foreign(owner);
        // Deny modes apply to other opens of the same client as well; compatibility mode applies between
        // clients only, so that it is compared with `foreign`.
        reads && denying_reading + others_compatible_write > 0
            || writes && denying_writing + others_compatible > 0
            || denies_reading && readers > 0
            || denies_writing && writers > 0
            || compatible && others_write > 0
            || compatible_writes && others_read > 0
    }

    fn add(&mut self, owner: OwnerId, bits: u16) {
        let at = self.owner_index(owner).unwrap_or_else(|at| {
            self.owners.insert(at, (owner, Counts::default()));
            at
        });
        for (way, is) in ways(bits).into_iter().enumerate().filter(|(_, is)| *is) {
            self.total[way] += u32::from(is);
            self.owners[at].1[way] += u32::from(is);
        }
    }

    fn subtract(&mut self, owner: OwnerId, bits: u16) {
        let Ok(at) = self.owner_index(owner) else { return };
        for (way, is) in ways(bits).into_iter().enumerate() {
            self.total[way] = self.total[way].saturating_sub(u32::from(is));
            let own = &mut self.owners[at].1[way];
            *own = own.saturating_sub(u32::from(is));
        }
        if self.owners[at].1 == Counts::default() {
            self.owners.remove(at);
        }
    }

    fn is_unused(&self) -> bool {
        self.owners.is_empty() && self.records.is_empty()
    }
}

/// The open files of a server.
///
/// It has the share modes and locked ranges of all connections in one table, because they concern connections other
/// than their own. Every open, close, lock and unlock goes through it. An entry exists only while a file is open or
/// locked.
#[derive(Default)]
pub struct OpenFileTable {
    files: Mutex<HashMap<VolumeNode, FileUse>>,
    /// Number of locked ranges; while it is 0, accesses skip the table.
    records: AtomicUsize,
    owners: AtomicU64,
    /// Notified when a lock is released for which a request may wait.
    waiting: Arc<WaitingRequests>,
    budget: StateBudget,
}

impl std::fmt::Debug for OpenFileTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InUse").field("files", &self.files).finish_non_exhaustive()
    }
}

impl OpenFileTable {
    /// An empty table; `waiting` is notified of released locks.
    pub fn new(waiting: Arc<WaitingRequests>, budget: StateBudget) -> Self {
        Self { waiting, budget, ..Self::default() }
    }

    /// The budget of what connections lock.
    pub const fn budget(&self) -> &StateBudget {
        &self.budget
    }

    /// The identity of a new connection.
    pub fn owner(&self) -> OwnerId {
        self.owners.fetch_add(1, Ordering::Relaxed)
    }

    /// Registers an open; fails with [`Completion::FileInUse`] when its access conflicts with another open.
    pub fn open(&self, place: VolumeNode, owner: OwnerId, bits: u16) -> VolumeResult<()> {
        let mut files = lock(&self.files);
        let uses = files.entry(place).or_default();
        if uses.clashes(owner, bits) {
            return Err(Completion::FileInUse);
        }
        uses.add(owner, bits);
        Ok(())
    }

    /// Undoes [`Self::open`].
    pub fn close(&self, place: VolumeNode, owner: OwnerId, bits: u16) {
        self.change(place, |uses| uses.subtract(owner, bits));
    }

    fn change(&self, place: VolumeNode, change: impl FnOnce(&mut FileUse)) {
        let mut files = lock(&self.files);
        if let Some(uses) = files.get_mut(&place) {
            change(uses);
            if uses.is_unused() {
                files.remove(&place);
            }
        }
    }

    /// Fails when another connection denies writing to the file or has locked a part of it, so that its contents must
    /// not be discarded.
    pub fn may_discard(&self, place: VolumeNode, owner: OwnerId) -> VolumeResult<()> {
        let files = lock(&self.files);
        let Some(uses) = files.get(&place) else { return Ok(()) };
        let locked = uses.records.iter().any(|record| record.owner != owner);
        let [_, _, _, denied, compatible, _] = uses.foreign(owner);
        if locked || denied + compatible > 0 { Err(Completion::FileInUse) } else { Ok(()) }
    }

    /// Fails when another connection denies writing to the file, which concerns its name as well.
    pub fn may_rename(&self, place: VolumeNode, owner: OwnerId) -> VolumeResult<()> {
        let files = lock(&self.files);
        let Some(uses) = files.get(&place) else { return Ok(()) };
        let [_, _, _, denied, compatible, _] = uses.foreign(owner);
        if denied + compatible > 0 { Err(Completion::FileInUse) } else { Ok(()) }
    }

    /// Fails with [`Completion::IoOnLockedRegion`] when another connection holds an exclusive lock on some of these
    /// bytes or, for a write, any lock.
    pub fn may_access(
        &self,
        place: VolumeNode,
        owner: OwnerId,
        bytes: ByteRange,
        write: bool,
    ) -> VolumeResult<()> {
        // Hardly any client locks ranges, so that reads and writes normally do without the table's lock.
        if self.records.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let files = lock(&self.files);
        let bars = |record: &RecordLock| {
            record.owner != owner && (write || !record.shared) && record.bytes.meets(bytes)
        };
        let barred = files.get(&place).is_some_and(|uses| uses.records.iter().any(bars));
        if barred { Err(Completion::IoOnLockedRegion) } else { Ok(()) }
    }

    /// Locks all ranges or none; returns false when another connection holds a conflicting lock.
    pub fn lock(&self, wanted: &[(VolumeNode, RecordLock)]) -> VolumeResult<bool> {
        let mut files = lock(&self.files);
        for (place, record) in wanted {
            let Some(uses) = files.get(place) else { continue };
            let bars = |other: &RecordLock| {
                other.owner != record.owner
                    && !(other.shared && record.shared)
                    && other.bytes.meets(record.bytes)
            };
            if uses.records.iter().any(bars) {
                return Ok(false);
            }
            // Every read and write compares with all locks of its file, so their number is bounded.
            if uses.records.len() + wanted.len() > MAX_RECORDS {
                return Err(Completion::ServerOutOfMemory);
            }
        }
        for (place, record) in wanted {
            files.entry(*place).or_default().records.push(*record);
        }
        self.records.fetch_add(wanted.len(), Ordering::Release);
        Ok(true)
    }

    /// Releases a lock once.
    pub fn unlock(&self, place: VolumeNode, record: &RecordLock) {
        self.change(place, |uses| {
            if let Some(at) = uses.records.iter().position(|known| known == record) {
                uses.records.swap_remove(at);
                self.records.fetch_sub(1, Ordering::Release);
            }
        });
        self.waiting.notify();
    }

    /// True when no file is open or locked.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        lock(&self.files).is_empty() && self.records.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        /// Number of owners that operations on this thread have examined.
        pub(super) static EXAMINED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    const FILE: VolumeNode = VolumeNode { volume: 0, node: 7 };
    const READ: u16 = access::READ;
    const BOTH: u16 = access::READ | access::WRITE;

    fn record(owner: OwnerId, start: u64, length: u64, shared: bool) -> (VolumeNode, RecordLock) {
        (FILE, RecordLock { owner, file: 1, bytes: ByteRange::new(start, length).unwrap(), shared })
    }

    #[test]
    fn denied_access_fails_for_other_opens() {
        let open_files = OpenFileTable::default();
        let clashes = |first: u16, (owner, second): (OwnerId, u16)| {
            open_files.open(FILE, 1, first).unwrap();
            let clashes = open_files.open(FILE, owner, second) == Err(Completion::FileInUse);
            if !clashes {
                open_files.close(FILE, owner, second);
            }
            open_files.close(FILE, 1, first);
            assert!(open_files.is_empty() || clashes);
            clashes
        };
        for owner in [1, 2] {
            assert!(!clashes(BOTH, (owner, BOTH)));
            assert!(clashes(READ | access::DENY_WRITE, (owner, BOTH)));
            assert!(!clashes(READ | access::DENY_WRITE, (owner, READ | access::DENY_WRITE)));
            assert!(clashes(BOTH, (owner, READ | access::DENY_WRITE)));
            assert!(clashes(access::WRITE | access::DENY_READ, (owner, READ)));
            assert!(clashes(READ, (owner, access::WRITE | access::DENY_READ)));
        }
        let compatible = BOTH | access::COMPATIBILITY;
        assert!(!clashes(compatible, (1, compatible)) && clashes(compatible, (2, compatible)));
        assert!(clashes(compatible, (2, READ)) && clashes(READ, (2, compatible)));
        let reading = READ | access::COMPATIBILITY;
        assert!(!clashes(reading, (2, READ)) && clashes(reading, (2, BOTH)));
    }

    #[test]
    fn an_open_and_its_close_examine_no_opens_of_others() {
        let open_files = OpenFileTable::default();
        // One connection has 10,000 opens of the file, and 10,000 others have one each.
        for owner in std::iter::repeat_n(1, 10_000).chain(2..10_002) {
            open_files.open(FILE, owner, BOTH).unwrap();
        }
        EXAMINED.set(0);
        open_files.open(FILE, 20_000, BOTH).unwrap();
        open_files.close(FILE, 20_000, BOTH);
        // Three binary searches among 10,001 owners.
        assert!((1..=3 * 15).contains(&EXAMINED.get()), "{}", EXAMINED.get());
    }

    #[test]
    fn refused_open_leaves_no_entry() {
        let open_files = OpenFileTable::default();
        open_files.open(FILE, 1, READ | access::DENY_READ).unwrap();
        assert!(open_files.open(FILE, 2, READ).is_err());
        assert!(open_files.may_discard(FILE, 2).is_ok(), "writing is not denied");
        open_files.close(FILE, 1, READ | access::DENY_READ);
        assert!(open_files.is_empty());
    }

    #[test]
    fn locks_exclude_others_and_sets_are_atomic() {
        let open_files = OpenFileTable::default();
        let bytes = |start, length| ByteRange::new(start, length).unwrap();
        assert_eq!(open_files.lock(&[record(1, 10, 10, false)]), Ok(true));
        assert_eq!(open_files.lock(&[record(1, 15, 10, false)]), Ok(true), "its own");
        assert_eq!(open_files.lock(&[record(2, 0, 10, false), record(2, 24, 1, true)]), Ok(false));
        assert_eq!(open_files.lock(&[record(2, 0, 10, true)]), Ok(true));
        assert_eq!(open_files.lock(&[record(3, 5, 1, true)]), Ok(true));
        let barred = Err(Completion::IoOnLockedRegion);
        assert_eq!(open_files.may_access(FILE, 2, bytes(9, 2), false), barred);
        assert_eq!(open_files.may_access(FILE, 1, bytes(9, 20), false), Ok(()));
        assert_eq!(open_files.may_access(FILE, 1, bytes(9, 20), true), barred);
        assert_eq!(open_files.may_access(FILE, 1, bytes(u64::MAX, u64::MAX), true), Ok(()));
        assert_eq!(open_files.may_discard(FILE, 1), Err(Completion::FileInUse));
        for (place, record) in [
            record(1, 10, 10, false),
            record(1, 15, 10, false),
            record(2, 0, 10, true),
            record(3, 5, 1, true),
        ] {
            open_files.unlock(place, &record);
            open_files.unlock(place, &record);
        }
        assert!(open_files.is_empty());
        let many: Vec<_> = (0..=MAX_RECORDS as u64).map(|start| record(1, start, 1, true)).collect();
        assert_eq!(open_files.lock(&many[1..]), Ok(true));
        assert_eq!(open_files.lock(&many[..1]), Err(Completion::ServerOutOfMemory));
    }
}
