//! The byte ranges that a connection has logged and locked (docs/protocols/ncp.md 3.3).

use std::sync::Arc;

use super::open_files::{ByteRange, OpenFileTable, OwnerId, RecordLock};
use super::state_budget::StateCharge;
use super::volume::{VolumeNode, VolumeResult};
use crate::wire::Completion;

/// The largest number of logged ranges of a connection.
const MAX_LOGGED: usize = 256;

/// A logged range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRange {
    /// The file.
    pub place: VolumeNode,
    /// Number of the file handle.
    pub file: u32,
    /// The range.
    pub bytes: ByteRange,
    /// Task that logged it.
    pub task: u8,
    /// The lock on it, if it is locked.
    pub held: Option<RecordLock>,
}

/// Bytes of a logged range and of its lock, of which vectors may have room for twice as many.
const RANGE_BYTES: usize = 2 * (size_of::<LoggedRange>() + size_of::<RecordLock>());

/// The ranges that a request locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTarget {
    /// One range.
    Range(LoggedRange),
    /// All ranges that a task has logged.
    Set(u8),
}

/// The byte ranges that one connection has logged, at most 256, and the locks that it holds on them.
/// Dropping the connection releases all of them.
#[derive(Debug)]
pub struct RecordLog {
    open_files: Arc<OpenFileTable>,
    owner: OwnerId,
    logged: Vec<LoggedRange>,
    charge: StateCharge,
}

impl RecordLog {
    /// An empty log of a new connection.
    pub fn new(open_files: Arc<OpenFileTable>) -> Self {
        let charge = open_files.budget().nothing();
        Self { owner: open_files.owner(), open_files, logged: Vec::new(), charge }
    }

    /// The open files of the server.
    pub const fn open_files(&self) -> &Arc<OpenFileTable> {
        &self.open_files
    }

    /// Identity of the connection.
    pub const fn owner(&self) -> OwnerId {
        self.owner
    }

    /// Logs a range.
    pub fn log(&mut self, range: LoggedRange) -> VolumeResult<()> {
        self.index_of(range).map(|_| ())
    }

    /// Index of a range, which is logged if it is not yet.
    fn index_of(&mut self, range: LoggedRange) -> VolumeResult<usize> {
        if let Some(at) = self.find(range.place, range.file, range.bytes) {
            return Ok(at);
        }
        if self.logged.len() >= MAX_LOGGED {
            return Err(Completion::ServerOutOfMemory);
        }
        if !self.charge.grow(RANGE_BYTES) {
            return Err(Completion::ServerOutOfMemory);
        }
        self.logged.push(range);
        Ok(self.logged.len() - 1)
    }

    fn find(&self, place: VolumeNode, file: u32, bytes: ByteRange) -> Option<usize> {
        let same = |known: &LoggedRange| known.place == place && known.file == file && known.bytes == bytes;
        self.logged.iter().position(same)
    }

    /// Locks a range or a set; false when another connection holds a conflicting lock. Existing locks then stay, and
    /// a range that was not logged before is not logged.
    pub fn lock(&mut self, goal: LockTarget, shared: bool) -> VolumeResult<bool> {
        let before = self.logged.len();
        let places = match goal {
            LockTarget::Range(range) => {
                let at = self.index_of(range)?;
                at..at + 1
            }
            LockTarget::Set(_) => 0..before,
        };
        let wants = |logged: &LoggedRange| match goal {
            LockTarget::Range(_) => true,
            LockTarget::Set(task) => logged.task == task,
        };
        let owner = self.owner;
        let record = |of: &LoggedRange| RecordLock { owner, file: of.file, bytes: of.bytes, shared };
        let changed = |of: &LoggedRange| wants(of) && of.held != Some(record(of));
        let wanted: Vec<_> = self.logged[places.clone()]
            .iter()
            .filter(|of| changed(of))
            .map(|of| (of.place, record(of)))
            .collect();
        let done = self.open_files.lock(&wanted);
        if done != Ok(true) {
            // A range that could not be locked must not stay logged, or a later request for the set would lock
            // it.
            self.logged.truncate(before);
            self.settle();
            return done;
        }
        for logged in self.logged[places].iter_mut().filter(|of| changed(of)) {
            let new = record(logged);
            // The old lock is released after the new one was granted, so that no other client gets the range in
            // between.
            if let Some(old) = logged.held.replace(new) {
                self.open_files.unlock(logged.place, &old);
            }
        }
        Ok(true)
    }

    /// Unlocks a range; `forget` also removes it from the log. Fails with [`Completion::Failure`] if it is not
    /// logged.
    pub fn release(
        &mut self,
        place: VolumeNode,
        file: u32,
        bytes: ByteRange,
        forget: bool,
    ) -> VolumeResult<()> {
        let at = self.find(place, file, bytes).ok_or(Completion::Failure)?;
        self.unlock(at);
        if forget {
            self.logged.remove(at);
            self.settle();
        }
        Ok(())
    }

    /// Unlocks all ranges of a task; `forget` also removes them from the log.
    pub fn release_set(&mut self, task: u8, forget: bool) {
        self.release_those(|logged| logged.task == task, forget);
    }

    /// Releases the ranges of a closed file.
    pub fn close(&mut self, file: u32) {
        self.release_those(|logged| logged.file == file, true);
    }

    /// Releases all ranges.
    pub fn clear(&mut self) {
        self.release_those(|_| true, true);
    }

    fn release_those(&mut self, those: impl Fn(&LoggedRange) -> bool, forget: bool) {
        for at in 0..self.logged.len() {
            if those(&self.logged[at]) {
                self.unlock(at);
            }
        }
        if forget {
            self.logged.retain(|logged| !those(logged));
            self.settle();
        }
    }

    /// Returns the charge of ranges that are no longer logged.
    fn settle(&mut self) {
        self.charge.resize(self.logged.len() * RANGE_BYTES);
    }

    fn unlock(&mut self, at: usize) {
        if let Some(held) = self.logged[at].held.take() {
            self.open_files.unlock(self.logged[at].place, &held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: VolumeNode = VolumeNode { volume: 0, node: 7 };

    fn range(file: u32, start: u64, length: u64, task: u8) -> LoggedRange {
        LoggedRange { place: FILE, file, bytes: ByteRange::new(start, length).unwrap(), task, held: None }
    }

    #[test]
    fn range_can_be_logged_locked_changed_released_and_removed() {
        let open_files = Arc::new(OpenFileTable::default());
        let mut one = RecordLog::new(Arc::clone(&open_files));
        let mut other = RecordLog::new(Arc::clone(&open_files));
        let bytes = range(1, 0, 100, 1).bytes;
        one.log(range(1, 0, 100, 1)).unwrap();
        assert!(open_files.is_empty());
        assert_eq!(one.lock(LockTarget::Range(range(1, 0, 100, 1)), false), Ok(true));
        assert_eq!(other.lock(LockTarget::Range(range(1, 99, 1, 1)), true), Ok(false));
        assert!(other.logged.is_empty());
        assert_eq!(one.lock(LockTarget::Range(range(1, 0, 100, 1)), true), Ok(true), "made shared");
        assert_eq!(other.lock(LockTarget::Range(range(1, 99, 1, 1)), true), Ok(true));
        assert_eq!(one.lock(LockTarget::Set(1), false), Ok(false));
        assert_eq!(one.logged[0].held.map(|held| held.shared), Some(true), "and still is");
        one.release(FILE, 1, bytes, false).unwrap();
        one.release(FILE, 1, bytes, true).unwrap();
        assert_eq!(one.release(FILE, 1, bytes, true), Err(Completion::Failure));
        other.clear();
        assert!(open_files.is_empty() && one.logged.is_empty() && other.logged.is_empty());
    }

    #[test]
    fn set_belongs_to_its_task_and_closing_a_file_releases_its_ranges() {
        let open_files = Arc::new(OpenFileTable::default());
        let mut one = RecordLog::new(Arc::clone(&open_files));
        for (file, start, task) in [(1, 0, 1), (1, 10, 2), (2, 20, 1)] {
            one.log(range(file, start, 10, task)).unwrap();
        }
        assert_eq!(one.lock(LockTarget::Set(1), false), Ok(true));
        assert_eq!(
            one.logged.iter().map(|logged| logged.held.is_some()).collect::<Vec<_>>(),
            [true, false, true]
        );
        one.close(2);
        one.release_set(1, false);
        assert!(open_files.is_empty());
        one.release_set(2, true);
        assert_eq!(one.logged.len(), 1);
        one.release_set(1, true);
        assert!(open_files.is_empty() && one.logged.is_empty());
    }

    #[test]
    fn record_log_is_bounded() {
        let mut one = RecordLog::new(Arc::default());
        for start in 0..MAX_LOGGED as u64 {
            one.log(range(1, start, 1, 1)).unwrap();
        }
        assert_eq!(one.log(range(1, 9999, 1, 1)), Err(Completion::ServerOutOfMemory));
        assert_eq!(
            one.lock(LockTarget::Range(range(1, 9999, 1, 1)), false),
            Err(Completion::ServerOutOfMemory)
        );
        assert_eq!(one.lock(LockTarget::Range(range(1, 9, 1, 1)), false), Ok(true));
    }
}
