//! Breaks of leases and oplocks that the server has announced on a channel.

use std::collections::VecDeque;

use crate::wire::FileId;
use crate::wire::lease::{ACKNOWLEDGMENT_REQUIRED, LeaseBreak};
use crate::wire::oplock::{LEVEL_II, OplockBreak};

/// Most breaks that wait for their acknowledgment.
const MAX_BREAKS: usize = 4096;

/// A right that the server takes back, in its own words.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Broken {
    Lease(LeaseBreak),
    Oplock(OplockBreak),
}

/// The right whose break a caller awaits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Lease([u8; 16]),
    /// An open file.
    Oplock(FileId),
}

/// What the session knows of its oplock: it has at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Oplock {
    #[default]
    None,
    /// It is requested. The server may break it before the reply to the open has been read.
    Requested,
    /// The level that the server has granted for a file.
    Granted(FileId, u8),
}

/// The breaks that wait for their acknowledgment, and the lease or oplock whose break a caller awaits.
///
/// A channel expects breaks from the first request for a right on. Each break is taken once, when its acknowledgment is sent.
/// The server does not state whether it waits for the acknowledgment of an oplock: it does unless the oplock was of level
/// II (MS-SMB2 3.2.5.19.1), so that breaks of an oplock wait until its level is known.
#[derive(Debug, Default)]
pub(crate) struct LeaseBreaks {
    /// The session requests leases or oplocks, so that a break may concern one of them.
    expected: bool,
    waiting: VecDeque<Broken>,
    awaited: Option<Awaited>,
    is_broken: bool,
    oplock: Oplock,
}

impl LeaseBreaks {
    /// Takes breaks from now on.
    pub(crate) fn expect(&mut self) {
        self.expected = true;
    }

    /// Waits for the break of this lease from now on.
    pub(crate) fn expect_of(&mut self, key: [u8; 16]) {
        self.expected = true;
        self.awaited = Some(Awaited::Lease(key));
        self.is_broken = false;
    }

    /// Keeps breaks of oplocks from now on, until its level is known ([`Self::oplock_granted`]).
    pub(crate) fn oplock_requested(&mut self) {
        self.expected = true;
        self.is_broken = false;
        self.oplock = Oplock::Requested;
    }

    /// Waits for the break of the oplock of this file from now on.
    pub(crate) fn oplock_granted(&mut self, file: FileId, level: u8) {
        self.awaited = Some(Awaited::Oplock(file));
        self.oplock = Oplock::Granted(file, level);
    }

    /// The session has no oplock any more: the file was not opened.
    pub(crate) fn forget_oplock(&mut self) {
        self.oplock = Oplock::None;
    }

    /// The file is closed, and its oplock given back, if it had one.
    pub(crate) fn forget_oplock_of(&mut self, file: FileId) {
        if matches!(self.oplock, Oplock::Granted(held, _) if held == file) {
            self.forget_oplock();
        }
    }

    /// True if the awaited break was taken.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Keeps a break, or ignores it where the session has no right; false if there are more than a session can hold.
    pub(crate) fn push(&mut self, broken: Broken) -> bool {
        if self.expected {
            self.waiting.push_back(broken);
        }
        self.waiting.len() <= MAX_BREAKS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest break, and whether the server waits for its acknowledgment.
    pub(crate) fn take(&mut self) -> Option<(Broken, bool)> {
        while let Some(broken) = self.waiting.front().copied() {
            let what = match broken {
                Broken::Lease(lease) => Awaited::Lease(lease.key),
                Broken::Oplock(_) if self.oplock == Oplock::Requested => return None,
                Broken::Oplock(oplock) => Awaited::Oplock(oplock.file),
            };
            self.waiting.pop_front();
            let required = match (broken, self.oplock) {
                (Broken::Lease(lease), _) => lease.flags & ACKNOWLEDGMENT_REQUIRED != 0,
                (Broken::Oplock(broken), Oplock::Granted(file, level)) if broken.file == file => {
                    // A second break, from level II to none, needs no acknowledgment.
                    self.oplock = Oplock::Granted(file, broken.level);
                    level > LEVEL_II
                }
                // The file is closed, which has given its oplock back.
                (Broken::Oplock(_), _) => continue,
            };
            self.is_broken |= self.awaited == Some(what);
            return Some((broken, required));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::oplock::{BATCH, NONE};

    const FILE: FileId = FileId { persistent: 3, volatile: 4 };

    fn broken(level: u8) -> Broken {
        Broken::Oplock(OplockBreak { level, file: FILE, ..OplockBreak::default() })
    }

    fn required(breaks: &mut LeaseBreaks) -> Option<bool> {
        breaks.take().map(|(_, required)| required)
    }

    #[test]
    fn the_break_of_an_oplock_waits_for_its_level_and_is_acknowledged_unless_that_was_level_ii() {
        let mut breaks = LeaseBreaks::default();
        breaks.push(broken(LEVEL_II));
        assert_eq!(required(&mut breaks), None, "nothing was requested");
        breaks.oplock_requested();
        breaks.push(broken(LEVEL_II));
        assert_eq!(required(&mut breaks), None, "its level is not known yet");
        breaks.oplock_granted(FILE, BATCH);
        assert_eq!((required(&mut breaks), breaks.is_broken()), (Some(true), true));
        breaks.push(broken(NONE));
        assert_eq!(required(&mut breaks), Some(false));
        breaks.forget_oplock_of(FILE);
        breaks.push(broken(NONE));
        assert_eq!((required(&mut breaks), breaks.is_empty()), (None, true));
    }
}
