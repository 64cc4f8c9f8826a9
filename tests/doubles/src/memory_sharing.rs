//! Who has a file of the memory target open, who denies it to others, and which ranges are locked.

use sharebench_model::{ErrorClass, FileRef, OpError, OpStep};

/// An open file of a session: the number of the session, and the file's reference there.
pub(crate) type Opener = (u64, FileRef);

/// A locked range: who locked it, its first byte and its length.
type LockedRange = (Opener, u64, u64);

/// The opens and locks of one file. A lock excludes every other open file, also one of the same session.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    openers: Vec<Opener>,
    denier: Option<Opener>,
    locks: Vec<LockedRange>,
}

fn busy<T>(request: &'static str, detail: &str) -> Result<T, OpError> {
    Err(OpError::new(ErrorClass::Busy, OpStep::Request(request), detail))
}

impl Sharing {
    /// Records an open, unless another one denies it, or is denied by it.
    pub(crate) fn enter(&mut self, opener: Opener, denies: bool) -> Result<(), OpError> {
        if self.denier.is_some() || denies && !self.openers.is_empty() {
            return busy("open", "another open denies it");
        }
        self.openers.push(opener);
        self.denier = denies.then_some(opener);
        Ok(())
    }

    /// True if the file is open once.
    pub(crate) fn is_alone(&self) -> bool {
        self.openers.len() == 1
    }

    /// Ends an open with its locks.
    pub(crate) fn leave(&mut self, opener: Opener) {
        self.openers.retain(|known| *known != opener);
        self.locks.retain(|(owner, ..)| *owner != opener);
        self.denier = self.denier.filter(|denier| *denier != opener);
    }

    /// Locks a range that no other open has locked.
    pub(crate) fn lock(&mut self, opener: Opener, offset: u64, bytes: u64) -> Result<(), OpError> {
        let end = offset.saturating_add(bytes);
        let overlaps = |(_, from, len): &LockedRange| *from < end && offset < from.saturating_add(*len);
        if self.locks.iter().any(overlaps) {
            return busy("lock", "the range is locked");
        }
        self.locks.push((opener, offset, bytes));
        Ok(())
    }

    /// Releases exactly a range that this open has locked.
    pub(crate) fn unlock(&mut self, opener: Opener, offset: u64, bytes: u64) -> Result<(), OpError> {
        match self.locks.iter().position(|lock| *lock == (opener, offset, bytes)) {
            Some(at) => {
                self.locks.swap_remove(at);
                Ok(())
            }
            None => Err(OpError::new(ErrorClass::Io, OpStep::Request("unlock"), "the range is not locked")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Opener = (1, FileRef(1));
    const OTHER: Opener = (2, FileRef(1));

    #[test]
    fn overlapping_ranges_exclude_each_other_and_neighbours_do_not() {
        let mut sharing = Sharing::default();
        assert_eq!(sharing.lock(ONE, 10, 10), Ok(()));
        assert_eq!((sharing.lock(OTHER, 0, 10), sharing.lock(OTHER, 20, 1)), (Ok(()), Ok(())));
        assert_eq!(sharing.lock(OTHER, 19, 1).unwrap_err().class, ErrorClass::Busy);
        assert!(sharing.unlock(OTHER, 10, 10).is_err() && sharing.unlock(ONE, 10, 9).is_err());
        sharing.leave(ONE);
        assert_eq!(sharing.lock(OTHER, 10, 10), Ok(()));
    }

    #[test]
    fn an_open_that_denies_is_alone() {
        let mut sharing = Sharing::default();
        assert_eq!((sharing.enter(ONE, false), sharing.enter(OTHER, false)), (Ok(()), Ok(())));
        assert!(sharing.enter(ONE, true).is_err());
        sharing.leave(ONE);
        sharing.leave(OTHER);
        assert_eq!(sharing.enter(ONE, true), Ok(()));
        assert!(sharing.enter(OTHER, false).is_err());
        sharing.leave(ONE);
        assert_eq!(sharing.enter(OTHER, false), Ok(()));
    }
}
