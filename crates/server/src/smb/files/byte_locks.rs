//! Byte ranges that are locked (MS-FSA 2.1.5.8).

/// Who holds a lock: an open file, and with SMB1 a process of its client (MS-CIFS 2.2.4.32.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockOwner {
    pub(crate) open: u64,
    pub(crate) process: u32,
}

impl LockOwner {
    /// The open itself, as with SMB2.
    pub(crate) const fn of_open(open: u64) -> Self {
        Self { open, process: 0 }
    }

    /// A process of the client that has the open.
    pub(crate) const fn of_process(open: u64, process: u32) -> Self {
        Self { open, process }
    }
}

/// A locked range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) owner: LockOwner,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) exclusive: bool,
}

impl Lock {
    /// True if both cover a byte. A range of length 0 overlaps only what contains its position inside.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let end = |lock: &Self| u128::from(lock.offset) + u128::from(lock.len);
        let start = |lock: &Self| u128::from(lock.offset);
        match (self.len, other.len) {
            (0, 0) => false,
            (0, _) => start(other) < start(self) && start(self) < end(other),
            (_, 0) => start(self) < start(other) && start(other) < end(self),
            _ => start(self) < end(other) && start(other) < end(self),
        }
    }

    /// True if this lock forbids another one. A shared lock may overlap an exclusive one of the same open (MS-FSA 2.1.5.8).
    pub(crate) fn excludes(&self, wanted: &Self) -> bool {
        (wanted.exclusive || self.exclusive && self.owner != wanted.owner) && self.overlaps(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(offset: u64, len: u64, exclusive: bool) -> Lock {
        Lock { owner: LockOwner::of_open(1), offset, len, exclusive }
    }

    #[test]
    fn ranges_overlap_up_to_the_end_of_the_offsets() {
        let all = lock(0, u64::MAX, false);
        assert!(
            all.overlaps(&lock(u64::MAX - 1, 1, false))
                && lock(u64::MAX, 1, false).overlaps(&lock(u64::MAX, 1, false))
        );
        assert!(!lock(0, 10, false).overlaps(&lock(10, 1, false)));
        assert!(
            lock(0, 10, false).overlaps(&lock(5, 0, false))
                && !lock(0, 10, false).overlaps(&lock(10, 0, false))
        );
        assert!(
            !lock(5, 0, true).overlaps(&lock(5, 0, true)) && !lock(5, 0, true).overlaps(&lock(5, 1, true))
        );
    }

    #[test]
    fn shared_locks_overlap_each_other_and_exclusive_ones_of_their_open() {
        let other = |lock: Lock| Lock { owner: LockOwner::of_open(2), ..lock };
        assert!(!lock(0, 10, false).excludes(&other(lock(5, 10, false))));
        assert!(lock(0, 10, true).excludes(&other(lock(5, 10, false))));
        assert!(lock(0, 10, false).excludes(&other(lock(5, 10, true))));
        assert!(
            !lock(0, 10, true).excludes(&lock(5, 10, false))
                && lock(0, 10, true).excludes(&lock(5, 10, true))
        );
    }
}
