//! What a user is doing at present: what the account of a window needs of those whom its end interrupts.

use std::cell::Cell;

/// The start of a pause that is not think time: it lies in no window.
pub(crate) const NOT_THINKING: u64 = u64::MAX;

/// What a user is doing at an instant, all times in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing that counts: it logs on or off, or has not started.
    #[default]
    Away,
    /// It pauses since `from`, until its next transaction is due.
    Thinking { from: u64, intended: u64 },
    /// It performs a transaction, or logs on for the first one of a visit.
    InTransaction { intended: u64, started: Option<u64> },
    /// It has lost its session and tries to open it again.
    WithoutSession { from: u64 },
}

/// What a thread knows of one of its users.
///
/// The user and its thread share it. The user states what it is doing, once per transaction and never per operation.
/// When a window ends, the thread reads the states of all its users and counts the parts that lie in the window, so that
/// no user has to wake up for it ([`super::thread_context::ThreadContext::close_window`]).
#[derive(Debug)]
pub(crate) struct UserActivity {
    pub now: Cell<Activity>,
    /// Transactions of the user that ended in the current window.
    pub done: Cell<u64>,
    /// True once it had a transaction under way within the measured part of the current window.
    pub engaged: Cell<bool>,
    /// True while it has a session.
    pub has_session: Cell<bool>,
    /// The instant from which on the user starts no transaction: the end of its window, or its place in a series of steps
    /// with fewer and fewer users.
    pub leaves: Cell<u64>,
}

impl Default for UserActivity {
    fn default() -> Self {
        Self {
            now: Cell::default(),
            done: Cell::default(),
            engaged: Cell::default(),
            has_session: Cell::default(),
            leaves: Cell::new(u64::MAX),
        }
    }
}

impl UserActivity {
    /// Ends what the user was doing, and gives it.
    pub fn end(&self) -> Activity {
        self.now.replace(Activity::Away)
    }
}
