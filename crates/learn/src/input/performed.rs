//! What a request did, for whom, and when.

use crate::operation::{Action, Outcome};

/// What one request did. Some requests are two operations: write and close, lock and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Performed {
    pub(crate) actions: [Option<Action>; 2],
    pub(crate) outcome: Outcome,
}

impl Performed {
    /// One operation.
    pub(crate) const fn one(action: Action, outcome: Outcome) -> Self {
        Self { actions: [Some(action), None], outcome }
    }

    pub(crate) const fn is_nothing(&self) -> bool {
        matches!(self.actions, [None, None])
    }
}

/// Who sent a request, when, and when its reply had arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) user: u32,
    pub(crate) start: u64,
    /// None where the reply was not seen, or the input has no durations.
    pub(crate) end: Option<u64>,
}

impl Exchange {
    /// With a reply, whose time may be that of another clock.
    pub(crate) fn new(user: u32, start: u64, end: u64) -> Self {
        Self { user, start, end: Some(end.max(start)) }
    }

    /// Without a reply.
    pub(crate) const fn unanswered(user: u32, start: u64) -> Self {
        Self { user, start, end: None }
    }
}
