//! Tables of what machines send each other, and which of it is forgotten where an input has more than fits in memory.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::dispatch::Sink;

/// Most connections of a table.
const MAX_CONNECTIONS: usize = 1 << 15;
/// Most memory of calls that wait for a reply and of segments that wait for an earlier one, bytes.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// The addresses of both ends, the smaller one first.
pub(super) type Key = (SocketAddr, SocketAddr);

/// What two addresses send each other.
pub(super) trait ConnectionState {
    /// False before its first message, and the time of its last packet.
    fn last_use(&self) -> (bool, u64);

    /// Memory of what waits in it, bytes.
    fn waiting_bytes(&self) -> usize;

    /// Nothing follows.
    fn finish(&mut self, sink: &mut Sink);
}

/// Connections, with the memory of what waits in them.
pub(super) struct ConnectionTable<C> {
    table: HashMap<Key, C>,
    /// Sum of [`ConnectionState::waiting_bytes`].
    waiting_bytes: usize,
}

impl<C: ConnectionState> ConnectionTable<C> {
    pub(super) fn new() -> Self {
        Self { table: HashMap::new(), waiting_bytes: 0 }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&C> {
        self.table.get(key)
    }

    /// Adds a connection in which nothing waits.
    pub(super) fn insert(&mut self, key: Key, connection: C, sink: &mut Sink) {
        if self.table.len() >= MAX_CONNECTIONS {
            self.forget(sink);
        }
        self.table.insert(key, connection);
    }

    /// Gives a connection its next packet.
    pub(super) fn take(&mut self, key: &Key, sink: &mut Sink, packet: impl FnOnce(&mut C, &mut Sink)) {
        let Some(connection) = self.table.get_mut(key) else { return };
        let before = connection.waiting_bytes();
        packet(connection, sink);
        self.waiting_bytes = self.waiting_bytes - before + connection.waiting_bytes();
        if self.waiting_bytes > MAX_WAITING_BYTES {
            self.forget(sink);
        }
    }

    /// Ends the eighth of the connections that were silent longest, first those that never had a message: there is no memory
    /// for all of them.
    fn forget(&mut self, sink: &mut Sink) {
        let mut all: Vec<_> =
            self.table.iter().map(|(key, connection)| (connection.last_use(), *key)).collect();
        all.sort_unstable();
        all.truncate(all.len().div_ceil(8));
        sink.recorder.unseen().forgotten += all.len() as u64;
        for (_, key) in all {
            self.close(&key, sink);
        }
    }

    pub(super) fn close(&mut self, key: &Key, sink: &mut Sink) {
        let Some(mut connection) = self.table.remove(key) else { return };
        self.waiting_bytes -= connection.waiting_bytes();
        connection.finish(sink);
    }

    /// Ends all connections.
    pub(super) fn end(&mut self, sink: &mut Sink) {
        let mut keys: Vec<_> = self.table.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.close(&key, sink);
        }
    }
}
