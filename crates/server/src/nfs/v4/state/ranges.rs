//! Byte-range locks of one file, which split and merge as POSIX locks do (RFC 7530, 16.10).

/// A range of bytes, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nfs::v4) struct ByteRange {
    pub(in crate::nfs::v4) first: u64,
    pub(in crate::nfs::v4) last: u64,
}

impl ByteRange {
    /// The range of an offset and a length on the wire, where the largest length is that to the end of the file; none
    /// if it is empty or exceeds 64 bits.
    pub(in crate::nfs::v4) fn new(offset: u64, length: u64) -> Option<Self> {
        let last = match length {
            0 => return None,
            u64::MAX => u64::MAX,
            length => offset.checked_add(length - 1)?,
        };
        Some(Self { first: offset, last })
    }

    /// Its length on the wire.
    pub(in crate::nfs::v4) fn length(self) -> u64 {
        if self.last == u64::MAX { u64::MAX } else { self.last - self.first + 1 }
    }

    fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A lock, by the number of its owner's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nfs::v4) struct ByteLock {
    pub(in crate::nfs::v4) holder: u64,
    pub(in crate::nfs::v4) range: ByteRange,
    pub(in crate::nfs::v4) exclusive: bool,
}

/// The locks of a file.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct LockList(Vec<ByteLock>);

impl LockList {
    /// Number of locks.
    pub(in crate::nfs::v4) fn len(&self) -> usize {
        self.0.len()
    }

    /// True if a holder has locks.
    pub(in crate::nfs::v4) fn is_held_by(&self, holder: u64) -> bool {
        self.0.iter().any(|lock| lock.holder == holder)
    }

    /// The first lock that excludes a wanted one.
    pub(in crate::nfs::v4) fn conflict(&self, wanted: ByteLock) -> Option<ByteLock> {
        let excludes = |lock: &&ByteLock| {
            lock.holder != wanted.holder
                && (lock.exclusive || wanted.exclusive)
                && lock.range.overlaps(wanted.range)
        };
        self.0.iter().find(excludes).copied()
    }

    /// Adds a lock without a conflict. It replaces what the holder has of the range.
    pub(in crate::nfs::v4) fn add(&mut self, lock: ByteLock) {
        self.remove(lock.holder, lock.range);
        let mut merged = lock.range;
        // Neighbours of the same kind become one lock, so that a client that locks record by record holds one.
        self.0.retain(|other| {
            let joins = other.holder == lock.holder
                && other.exclusive == lock.exclusive
                && (other.range.last.checked_add(1) == Some(merged.first)
                    || merged.last.checked_add(1) == Some(other.range.first));
            if joins {
                merged.first = merged.first.min(other.range.first);
                merged.last = merged.last.max(other.range.last);
            }
            !joins
        });
        self.0.push(ByteLock { range: merged, ..lock });
    }

    /// Removes a range of a holder's locks.
    pub(in crate::nfs::v4) fn remove(&mut self, holder: u64, range: ByteRange) {
        let mut rest = Vec::new();
        self.0.retain(|lock| {
            let affected = lock.holder == holder && lock.range.overlaps(range);
            if affected {
                if lock.range.first < range.first {
                    let range = ByteRange { first: lock.range.first, last: range.first - 1 };
                    rest.push(ByteLock { range, ..*lock });
                }
                if lock.range.last > range.last {
                    let range = ByteRange { first: range.last + 1, last: lock.range.last };
                    rest.push(ByteLock { range, ..*lock });
                }
            }
            !affected
        });
        self.0.append(&mut rest);
    }

    /// Removes all locks of a holder; true if there were any.
    pub(in crate::nfs::v4) fn remove_all(&mut self, holder: u64) -> bool {
        let before = self.0.len();
        self.0.retain(|lock| lock.holder != holder);
        self.0.len() < before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lock(holder: u64, first: u64, last: u64, exclusive: bool) -> ByteLock {
        ByteLock { holder, range: ByteRange { first, last }, exclusive }
    }

    #[test]
    fn lengths_on_the_wire_become_ranges() {
        assert_eq!(ByteRange::new(5, 0), None);
        assert_eq!(ByteRange::new(5, 1), Some(ByteRange { first: 5, last: 5 }));
        assert_eq!(ByteRange::new(5, u64::MAX), Some(ByteRange { first: 5, last: u64::MAX }));
        assert_eq!(ByteRange::new(5, u64::MAX - 1), None);
        assert_eq!(ByteRange::new(u64::MAX, 1).map(ByteRange::length), Some(u64::MAX));
    }

    #[test]
    fn neighbours_merge_and_an_unlock_splits() {
        let mut locks = LockList::default();
        locks.add(lock(1, 0, 9, true));
        locks.add(lock(1, 10, 19, true));
        assert_eq!(locks.0, [lock(1, 0, 19, true)]);
        locks.remove(1, ByteRange { first: 5, last: 9 });
        assert_eq!(locks.0, [lock(1, 0, 4, true), lock(1, 10, 19, true)]);
        assert_eq!(locks.conflict(lock(2, 3, 12, false)), Some(lock(1, 0, 4, true)));
        assert_eq!(locks.conflict(lock(2, 5, 9, true)), None);
        locks.add(lock(1, 0, u64::MAX, false));
        assert_eq!(locks.0, [lock(1, 0, u64::MAX, false)]);
    }

    proptest! {
        /// The list behaves like an array of bytes with a kind of lock per holder.
        #[test]
        fn the_list_equals_a_map_of_bytes(
            steps in prop::collection::vec((0u8..3, 1u64..4, 0u64..40, 0u64..40), 1..60)
        ) {
            let mut locks = LockList::default();
            let mut model = [[None::<bool>; 40]; 4];
            for (kind, holder, one, other) in steps {
                let range = ByteRange { first: one.min(other), last: one.max(other) };
                let bytes = range.first as usize..=range.last as usize;
                if kind == 2 {
                    locks.remove(holder, range);
                    model[holder as usize][bytes].fill(None);
                    continue;
                }
                let wanted = ByteLock { holder, range, exclusive: kind == 1 };
                let excluded = (1..4usize).filter(|index| *index != holder as usize).any(|index| {
                    bytes.clone().any(|at| model[index][at].is_some_and(|held| held || wanted.exclusive))
                });
                prop_assert_eq!(locks.conflict(wanted).is_some(), excluded);
                if !excluded {
                    locks.add(wanted);
                    model[holder as usize][bytes].fill(Some(wanted.exclusive));
                }
            }
            for holder in 1..4u64 {
                for at in 0..40u64 {
                    let held = locks.0.iter().filter(|lock| lock.holder == holder);
                    let found: Vec<bool> = held
                        .filter(|lock| lock.range.first <= at && at <= lock.range.last)
                        .map(|lock| lock.exclusive)
                        .collect();
                    let expected: Vec<bool> = model[holder as usize][at as usize].into_iter().collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
