//! The connections of a server by client and by number, and the idle time of each.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::connection::Connection;
use super::lock_tables::LockTables;
use super::options::{Peer, Watchdog};
use crate::wire::TransportKind;
use crate::wire::packet::NO_CONNECTION;

/// Silence after which a connection without login may be removed in favour of another one. A client that has just
/// connected is about to log in.
const MIN_SILENCE: Duration = Duration::from_secs(1);

/// A connection in the table, with the time of its last packet. The connection has a lock of its own; the other
/// fields are atomic, so that the table can be examined while a request executes.
#[derive(Debug)]
pub struct ConnectionSlot {
    pub connection: Mutex<Connection>,
    number: u16,
    transport: TransportKind,
    heard_ms: AtomicU64,
    /// Watchdog queries since the last packet.
    queries: AtomicU64,
    /// True when packets must have IPX checksums.
    pub checks: AtomicBool,
    /// True when a user has logged in.
    pub logged_in: AtomicBool,
}

impl ConnectionSlot {
    /// Notes that the client is alive.
    pub fn note_activity(&self, now: Duration) {
        self.heard_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        self.queries.store(0, Ordering::Relaxed);
    }
}

/// The connections of a server by client, and the connection numbers in use.
#[derive(Debug)]
pub struct ConnectionTable {
    limit: u16,
    peers: HashMap<Peer, Arc<ConnectionSlot>>,
    numbers: BTreeSet<u16>,
    locks: LockTables,
}

impl ConnectionTable {
    /// An empty table for up to `limit` connections, which share `locks`.
    pub fn new(limit: u16, locks: LockTables) -> Self {
        Self {
            // 0xFFFF is the number in a create request, so it can belong to no connection.
            limit: limit.min(NO_CONNECTION - 1),
            peers: HashMap::new(),
            numbers: BTreeSet::new(),
            locks,
        }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// The connection of a client.
    pub fn get(&self, peer: Peer) -> Option<Arc<ConnectionSlot>> {
        self.peers.get(&peer).map(Arc::clone)
    }

    /// Removes a client and its connection.
    pub fn remove(&mut self, peer: Peer) {
        if let Some(known) = self.peers.remove(&peer) {
            self.numbers.remove(&known.number);
        }
    }

    /// Creates a connection for a client and removes its previous one; none when the table is full. A full table gives
    /// up the connection that is silent for the longest time without a login, so that such connections cannot keep
    /// users out.
    pub fn create(&mut self, peer: Peer, transport: TransportKind, now: Duration) -> Option<u16> {
        // A create from an address that owns a connection initialises it again and closes its files
        // (docs/protocols/ncp.md 1.4).
        self.remove(peer);
        if self.peers.len() >= usize::from(self.limit) {
            self.remove_silent(now);
        }
        let number = (1..=self.limit).find(|number| !self.numbers.contains(number))?;
        let known = ConnectionSlot {
            connection: Mutex::new(Connection::new(number, peer.into(), &self.locks)),
            number,
            transport,
            heard_ms: AtomicU64::new(0),
            queries: AtomicU64::new(0),
            checks: AtomicBool::new(false),
            logged_in: AtomicBool::new(false),
        };
        known.note_activity(now);
        self.numbers.insert(number);
        self.peers.insert(peer, Arc::new(known));
        Some(number)
    }

    fn remove_silent(&mut self, now: Duration) {
        let heard = |known: &ConnectionSlot| Duration::from_millis(known.heard_ms.load(Ordering::Relaxed));
        let silent = self.peers.iter().filter(|(_, known)| {
            !known.logged_in.load(Ordering::Relaxed) && now.saturating_sub(heard(known)) >= MIN_SILENCE
        });
        if let Some(peer) = silent.min_by_key(|(_, known)| heard(known)).map(|(peer, _)| *peer) {
            self.remove(peer);
        }
    }

    /// Clients on datagrams to query whether they are alive, with their connection numbers; and clients that have not
    /// answered.
    pub fn idle_clients(&self, now: Duration, watchdog: Watchdog) -> (Vec<(Peer, u16)>, Vec<Peer>) {
        let mut queries = Vec::new();
        let mut gone = Vec::new();
        for (peer, known) in self.peers.iter().filter(|(_, known)| known.transport.is_datagram()) {
            let heard = Duration::from_millis(known.heard_ms.load(Ordering::Relaxed));
            let sent = known.queries.load(Ordering::Relaxed) as u32;
            // The n-th query is due n intervals after the idle time; a packet of the client resets both.
            if now < heard + watchdog.idle + watchdog.interval * sent {
                continue;
            }
            if sent >= watchdog.attempts {
                gone.push(*peer);
            } else {
                known.queries.store(u64::from(sent) + 1, Ordering::Relaxed);
                queries.push((*peer, known.number));
            }
        }
        (queries, gone)
    }
}
