//! Operations on names in flight, and the replies that they await.

use std::task::{Context, Poll};

use sharebench_model::{MetaReply, Slot};
use sharebench_target::{CallReply, LocalBoxFuture};

use crate::shared_state::SharedState;

/// What became of the request of an operation on names.
#[derive(Debug)]
enum Awaited<T> {
    /// None is in flight, or nobody waits for its reply.
    Nothing,
    Reply,
    Arrived(T),
}

/// The replies that operations on names await, by the index of their request.
///
/// Whoever drives the connection delivers what arrives, and each operation takes its own reply. A reply that nobody awaits is
/// dropped: its caller has gone.
#[derive(Debug)]
pub struct AwaitedReplies<T> {
    entries: Vec<Awaited<T>>,
}

impl<T> AwaitedReplies<T> {
    /// Replies to requests at indexes below `count`.
    pub fn new(count: usize) -> Self {
        Self { entries: (0..count).map(|_| Awaited::Nothing).collect() }
    }

    /// Notes that somebody waits for the reply to the request at `index`.
    #[inline]
    pub fn expect(&mut self, index: usize) {
        self.entries[index] = Awaited::Reply;
    }

    /// Delivers what arrived; false if nobody waits for it.
    #[inline]
    pub fn deliver(&mut self, index: usize, reply: T) -> bool {
        match self.entries.get_mut(index) {
            Some(entry @ Awaited::Reply) => {
                *entry = Awaited::Arrived(reply);
                true
            }
            _ => false,
        }
    }

    /// Takes the reply to the request at `index` if it has arrived.
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<T> {
        let entry = self.entries.get_mut(index)?;
        match std::mem::replace(entry, Awaited::Nothing) {
            Awaited::Arrived(reply) => Some(reply),
            other => {
                *entry = other;
                None
            }
        }
    }

    /// True while a reply is awaited at `index` that has not arrived.
    #[inline]
    pub fn is_awaited(&self, index: usize) -> bool {
        matches!(self.entries.get(index), Some(Awaited::Reply))
    }
}

/// The operations on names that a session has in flight, one for each slot at most.
#[derive(Default)]
pub struct CallsInFlight {
    calls: Vec<Option<LocalBoxFuture<'static, MetaReply>>>,
}

impl std::fmt::Debug for CallsInFlight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.calls.iter().flatten().count();
        f.debug_struct("CallsInFlight").field("count", &count).finish_non_exhaustive()
    }
}

impl CallsInFlight {
    /// True if nothing is in flight at the slot.
    pub fn is_idle(&self, slot: Slot) -> bool {
        !matches!(self.calls.get(slot.0 as usize), Some(Some(_)))
    }

    /// Adds an operation at an idle slot. It begins when it is polled.
    pub fn begin(&mut self, slot: Slot, call: LocalBoxFuture<'static, MetaReply>) {
        let index = slot.0 as usize;
        if index >= self.calls.len() {
            self.calls.resize_with(index + 1, || None);
        }
        self.calls[index] = Some(call);
    }

    /// True if an operation is in flight at an index for which `is` is true.
    pub fn any(&self, is: impl Fn(usize) -> bool) -> bool {
        self.calls.iter().enumerate().any(|(index, call)| call.is_some() && is(index))
    }

    /// Lends the state to each operation for whose index `continues` is true, and appends the replies of those that have ended.
    pub fn poll<S>(
        &mut self,
        state: &mut SharedState<S>,
        continues: impl Fn(&S, usize) -> bool,
        cx: &mut Context<'_>,
        replies: &mut Vec<CallReply>,
    ) {
        for (index, place) in self.calls.iter_mut().enumerate() {
            let Some(call) = place.as_mut().filter(|_| continues(&**state, index)) else { continue };
            if let Poll::Ready(reply) = state.lend(|| call.as_mut().poll(cx)) {
                *place = None;
                replies.push(CallReply { slot: Slot(index as u32), reply });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_delivered_to_whoever_awaits_it_and_once() {
        let mut replies = AwaitedReplies::new(2);
        assert!(!replies.deliver(0, 'a'), "nobody waits");
        replies.expect(1);
        assert!(replies.is_awaited(1) && replies.take(1).is_none() && replies.is_awaited(1));
        assert!(replies.deliver(1, 'b') && !replies.deliver(1, 'c'));
        assert!(!replies.is_awaited(1));
        assert_eq!((replies.take(1), replies.take(1), replies.take(2)), (Some('b'), None, None));
    }
}
