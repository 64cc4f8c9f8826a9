//! Files that connections have open: what each denies to the others, and who has locked which bytes
//! (docs/protocols/ncp.md 3.2, 3.3).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::connection::VolumeNode;
use super::lock;
use super::options::Environment;
use super::volume::VolumeResult;
use crate::wire::Completion;
use crate::wire::dos::access;

/// Most locked ranges of a file: each access to it is held against them.
const MAX_RECORDS: usize = 2048;

/// A connection, by a number that no other one has had.
pub type OwnerId = u64;

/// Bytes of a file, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// A range that is not empty; beyond the last byte that 64 bits reach it ends there.
    pub const fn new(start: u64, length: u64) -> Option<Self> {
        if length == 0 {
            return None;
        }
        Some(Self { first: start, last: start.saturating_add(length - 1) })
    }

    const fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLock {
    /// Whose it is.
    pub owner: OwnerId,
    /// The handle it was locked through.
    pub file: u32,
    /// What is locked.
    pub bytes: ByteRange,
    /// Others may read, and lock so too; nobody else may write.
    pub shared: bool,
}

/// How often a file is open in each way; see [`ways`].
type Counts = [u32; 6];

/// Ways in which an open with some access counts: reading, writing, denying either, and in compatibility mode at all
/// and for writing.
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

/// What is known of one file.
#[derive(Debug, Default)]
struct FileUse {
    total: Counts,
    /// The same of each connection, in the order of their numbers.
    owners: Vec<(OwnerId, Counts)>,
    records: Vec<RecordLock>,
}

impl FileUse {
    fn owner_index(&self, owner: OwnerId) -> Result<usize, usize> {
        self.owners.binary_search_by_key(&owner, |(known, _)| *known)
    }

    /// How often others than `owner` have it open.
    fn foreign(&self, owner: OwnerId) -> Counts {
        let mut foreign = self.total;
        if let Ok(at) = self.owner_index(owner) {
            for (count, own) in foreign.iter_mut().zip(self.owners[at].1) {
                *count -= own;
            }
        }
        foreign
    }

    /// True when an open with this access would be denied something, or deny something that is under way. What is denied
    /// is denied to every other handle; compatibility mode denies to other connections alone: writing, and reading too
    /// when it writes itself.
    fn clashes(&self, owner: OwnerId, bits: u16) -> bool {
        let [reads, writes, denies_reading, denies_writing, compatible, compatible_writes] = ways(bits);
        let [readers, writers, denying_reading, denying_writing, ..] = self.total;
        let [others_read, others_write, _, _, others_compatible, others_compatible_write] =
            self.foreign(owner);
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

/// The files that are open on a server.
#[derive(Default)]
pub struct OpenFileTable {
    files: Mutex<HashMap<VolumeNode, FileUse>>,
    /// Locked ranges there are: without any, no access needs to look.
    records: AtomicUsize,
    waiting: AtomicUsize,
    owners: AtomicU64,
    /// Told when a lock is given up that another may wait for.
    environment: Option<Arc<dyn Environment>>,
}

impl std::fmt::Debug for OpenFileTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InUse").field("files", &self.files).finish_non_exhaustive()
    }
}

/// A connection that waits for a lock, for as long as it does.
#[derive(Debug)]
pub struct WaiterGuard(Arc<OpenFileTable>);

impl WaiterGuard {
    /// One more.
    pub fn new(open_files: &Arc<OpenFileTable>) -> Self {
        open_files.waiting.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(open_files))
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl OpenFileTable {
    /// Nothing open; `environment` hears of locks that are given up.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self { environment: Some(environment), ..Self::default() }
    }

    /// Connections that wait for a lock.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// The number of a new connection.
    pub fn owner(&self) -> OwnerId {
        self.owners.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that a file is open with an access; [`Completion::FileInUse`] when that clashes with another.
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

    /// An error when the content of a file cannot be thrown away: another denies writing, or has locked part of it.
    pub fn may_discard(&self, place: VolumeNode, owner: OwnerId) -> VolumeResult<()> {
        let files = lock(&self.files);
        let Some(uses) = files.get(&place) else { return Ok(()) };
        let locked = uses.records.iter().any(|record| record.owner != owner);
        let [_, _, _, denied, compatible, _] = uses.foreign(owner);
        if locked || denied + compatible > 0 { Err(Completion::FileInUse) } else { Ok(()) }
    }

    /// [`Completion::IoOnLockedRegion`] when another connection has locked some of these bytes: against all, or, for a
    /// write, in any way.
    pub fn may_access(
        &self,
        place: VolumeNode,
        owner: OwnerId,
        bytes: ByteRange,
        write: bool,
    ) -> VolumeResult<()> {
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

    /// Locks all of these, or none when another connection is in the way of one: then false.
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

    /// Gives locks up, each once.
    pub fn unlock(&self, place: VolumeNode, record: &RecordLock) {
        self.change(place, |uses| {
            if let Some(at) = uses.records.iter().position(|known| known == record) {
                uses.records.swap_remove(at);
                self.records.fetch_sub(1, Ordering::Release);
            }
        });
        if let Some(environment) = self.environment.as_ref().filter(|_| self.waiting() > 0) {
            environment.released();
        }
    }

    /// True when nothing is open or locked.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        lock(&self.files).is_empty() && self.records.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: VolumeNode = VolumeNode { volume: 0, node: 7 };
    const READ: u16 = access::READ;
    const BOTH: u16 = access::READ | access::WRITE;

    fn record(owner: OwnerId, start: u64, length: u64, shared: bool) -> (VolumeNode, RecordLock) {
        (FILE, RecordLock { owner, file: 1, bytes: ByteRange::new(start, length).unwrap(), shared })
    }

    #[test]
    fn what_one_denies_no_other_gets() {
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
    fn a_refused_open_leaves_nothing_behind() {
        let open_files = OpenFileTable::default();
        open_files.open(FILE, 1, READ | access::DENY_READ).unwrap();
        assert!(open_files.open(FILE, 2, READ).is_err());
        assert!(open_files.may_discard(FILE, 2).is_ok(), "writing is not denied");
        open_files.close(FILE, 1, READ | access::DENY_READ);
        assert!(open_files.is_empty());
    }

    #[test]
    fn locks_bar_others_and_all_of_a_set_are_locked_or_none() {
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
