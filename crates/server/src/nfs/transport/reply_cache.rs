//! Replies to calls over UDP that change something, so that a repeated call is not performed again.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Replies that are kept. The oldest one is dropped for a new one.
const MAX_REPLIES: usize = 16_384;
/// Longest reply that is kept. Those to calls that change something are a few hundred bytes.
const MAX_REPLY_BYTES: usize = 1024;
/// Bytes at the front of a call that identify it, with its length and its xid, as in the server of Linux.
const IDENTIFYING_BYTES: usize = 256;

/// Identity of a call: its sender, its xid, and its content, because a sender may use an xid again for another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    from: SocketAddr,
    xid: u32,
    content: u64,
}

/// What is known of a call that arrives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// It has not arrived before: the caller performs it, and calls [`ReplyCache::finish`].
    None,
    /// It is being performed.
    InProgress,
    /// It was performed, with this reply.
    Answered(Box<[u8]>),
}

#[derive(Debug, Default)]
struct Table {
    /// The reply to each call; none while it is performed.
    replies: HashMap<CallKey, Option<Box<[u8]>>>,
    /// The calls that were performed, the oldest first.
    order: VecDeque<CallKey>,
}

/// The duplicate request cache (RFC 1813, 4.4).
///
/// Its memory is bounded by the number of replies and by their length; calls in progress are bounded by the server's limit of
/// calls in flight. A call whose reply was dropped is performed again if it is repeated so late.
#[derive(Debug, Default)]
pub(crate) struct ReplyCache {
    hasher: RandomState,
    table: Mutex<Table>,
}

impl ReplyCache {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn key(&self, from: SocketAddr, xid: u32, call: &[u8]) -> CallKey {
        let front = call.get(..IDENTIFYING_BYTES).unwrap_or(call);
        CallKey { from, xid, content: self.hasher.hash_one((front, call.len())) }
    }

    /// Begins a call, unless it has arrived before.
    pub(crate) fn begin(&self, key: CallKey) -> Earlier {
        let mut table = self.table();
        match table.replies.get(&key) {
            Some(Some(reply)) => Earlier::Answered(reply.clone()),
            Some(None) => Earlier::InProgress,
            None => {
                table.replies.insert(key, None);
                Earlier::None
            }
        }
    }

    /// Keeps the reply to a call that [`Self::begin`] began.
    pub(crate) fn finish(&self, key: CallKey, reply: &[u8]) {
        let mut table = self.table();
        if reply.len() > MAX_REPLY_BYTES {
            table.replies.remove(&key);
            return;
        }
        table.replies.insert(key, Some(reply.into()));
        table.order.push_back(key);
        if table.order.len() > MAX_REPLIES
            && let Some(oldest) = table.order.pop_front()
        {
            table.replies.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "192.0.2.1:700";

    #[test]
    fn a_call_is_known_by_sender_xid_and_content() {
        let cache = ReplyCache::default();
        let from = CLIENT.parse().unwrap();
        let key = cache.key(from, 7, b"remove f");
        assert_eq!(cache.begin(key), Earlier::None);
        assert_eq!(cache.begin(key), Earlier::InProgress);
        cache.finish(key, b"done");
        assert_eq!(cache.begin(key), Earlier::Answered(b"done"[..].into()));
        let others = [
            cache.key("192.0.2.1:701".parse().unwrap(), 7, b"remove f"),
            cache.key(from, 8, b"remove f"),
            cache.key(from, 7, b"remove g"),
            cache.key(from, 7, &[0; 300]),
            cache.key(from, 7, &[0; 301]),
        ];
        for other in others {
            assert_eq!(cache.begin(other), Earlier::None);
        }
    }

    #[test]
    fn memory_is_bounded_by_dropping_the_oldest_replies() {
        let cache = ReplyCache::default();
        let keys: Vec<CallKey> = (0..=MAX_REPLIES as u32)
            .map(|xid| {
                let key = cache.key(CLIENT.parse().unwrap(), xid, b"call");
                assert_eq!(cache.begin(key), Earlier::None);
                cache.finish(key, b"reply");
                key
            })
            .collect();
        let table = cache.table();
        assert_eq!((table.replies.len(), table.order.len()), (MAX_REPLIES, MAX_REPLIES));
        drop(table);
        assert_eq!(cache.begin(keys[0]), Earlier::None);
        assert_eq!(cache.begin(keys[1]), Earlier::Answered(b"reply"[..].into()));
        let long = cache.key(CLIENT.parse().unwrap(), 0, b"another");
        cache.begin(long);
        cache.finish(long, &[0; MAX_REPLY_BYTES + 1]);
        assert_eq!(cache.begin(long), Earlier::None);
    }
}
