//! The calls of a connection that wait for their replies.

use std::collections::HashMap;
use std::hash::Hash;

/// A call, with what is kept of it until its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent<C> {
    /// When it was sent, ns since the start of the input.
    pub(super) start: u64,
    pub(super) call: C,
}

/// Calls that wait for their replies, by the number that both have.
#[derive(Debug)]
pub(super) struct CallsInFlight<I, C> {
    calls: HashMap<I, Sent<C>>,
    /// More are those of a capture without replies.
    most: usize,
}

impl<I: Copy + Eq + Hash + Ord, C> CallsInFlight<I, C> {
    pub(super) fn new(most: usize) -> Self {
        Self { calls: HashMap::new(), most }
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// True if there is no memory for another call: those that wait have no reply.
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() >= self.most
    }

    pub(super) fn contains(&self, id: I) -> bool {
        self.calls.contains_key(&id)
    }

    /// Adds a call. One that is sent again began the first time.
    pub(super) fn send(&mut self, id: I, start: u64, call: C) {
        self.calls.entry(id).or_insert(Sent { start, call });
    }

    /// Adds a call whose number may be that of an earlier one, which is returned.
    pub(super) fn replace(&mut self, id: I, start: u64, call: C) -> Option<Sent<C>> {
        self.calls.insert(id, Sent { start, call })
    }

    /// Takes the call of a reply.
    pub(super) fn answer(&mut self, id: I) -> Option<Sent<C>> {
        self.calls.remove(&id)
    }

    /// Takes the calls that have no reply, in the order in which they were sent.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Sent<C>> + use<I, C> {
        let mut all: Vec<_> = self.calls.drain().collect();
        all.sort_by_key(|(id, sent)| (sent.start, *id));
        all.into_iter().map(|(_, sent)| sent)
    }
}
