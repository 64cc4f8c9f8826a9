//! Which connections are forgotten where an input has more than fit in memory.

use std::collections::HashMap;
use std::net::SocketAddr;

/// Most connections that are kept at a time.
pub(super) const MAX_CONNECTIONS: usize = 1 << 15;

/// Most memory of calls that wait for a reply and of segments that wait for an earlier one, bytes.
pub(super) const MAX_WAITING_BYTES: usize = 64 << 20;

/// Memory of a call that waits for its reply, bytes.
pub(super) const CALL_BYTES: usize = 600;

/// The addresses of both ends, the smaller one first.
pub(super) type Key = (SocketAddr, SocketAddr);

/// When a connection was used last.
pub(super) trait LastUse {
    /// False before its first message, and the time of its last packet.
    fn last_use(&self) -> (bool, u64);
}

/// The eighth of the connections that were silent longest, first those that never sent a message.
pub(super) fn longest_silent<C: LastUse>(table: &HashMap<Key, C>) -> Vec<Key> {
    let mut all: Vec<_> = table.iter().map(|(key, connection)| (connection.last_use(), *key)).collect();
    all.sort_unstable();
    all.truncate(all.len().div_ceil(8));
    all.into_iter().map(|(_, key)| key).collect()
}
