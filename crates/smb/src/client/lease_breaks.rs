//! Breaks of leases that the server has announced on a channel.

use std::collections::VecDeque;

use crate::wire::lease::LeaseBreak;

/// Most breaks that wait for their acknowledgment.
const MAX_BREAKS: usize = 4096;

/// The breaks that wait for their acknowledgment, and the lease whose break a caller awaits.
///
/// A channel expects breaks from the first request for a lease on. Each break is taken once, when its acknowledgment is sent.
#[derive(Debug, Default)]
pub(crate) struct LeaseBreaks {
    /// The session requests leases, so that a break may concern one of them.
    expected: bool,
    waiting: VecDeque<LeaseBreak>,
    awaited: Option<[u8; 16]>,
    is_broken: bool,
}

impl LeaseBreaks {
    /// Takes breaks from now on.
    pub(crate) fn expect(&mut self) {
        self.expected = true;
    }

    /// Waits for the break of this lease from now on.
    pub(crate) fn expect_of(&mut self, key: [u8; 16]) {
        self.expected = true;
        self.awaited = Some(key);
        self.is_broken = false;
    }

    /// True if the awaited break was taken.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Keeps a break, or ignores it where the session has no lease; false if there are more than a session can hold.
    pub(crate) fn push(&mut self, broken: LeaseBreak) -> bool {
        if self.expected {
            self.waiting.push_back(broken);
        }
        self.waiting.len() <= MAX_BREAKS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest break.
    pub(crate) fn take(&mut self) -> Option<LeaseBreak> {
        let broken = self.waiting.pop_front()?;
        self.is_broken |= self.awaited == Some(broken.key);
        Some(broken)
    }
}
