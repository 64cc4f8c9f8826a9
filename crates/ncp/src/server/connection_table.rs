//! The connections of a server by client and by number, and the idle time of each.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::connection::Connection;
use super::lock_tables::LockTables;
use super::mutex::lock;
use super::options::Watchdog;
use super::peer::Peer;
use crate::wire::TransportKind;
use crate::wire::packet::NO_CONNECTION;
use crate::wire::server_info::DateAndTime;

/// Silence after which a connection without login may be removed in favour of another one. A client that has just
/// connected is about to log in.
const MIN_SILENCE: Duration = Duration::from_secs(1);

/// The login of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRecord {
    /// Index of the user.
    pub user: usize,
    /// Time of the login.
    pub at: DateAndTime,
}

/// A connection in the table, with the time of its last packet. The connection has a lock of its own; the other
/// fields are atomic or locked only to copy them, so that the table can be examined while a request executes.
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
    /// The login after the last request. Nothing else is locked while it is.
    login: Mutex<Option<LoginRecord>>,
}

impl ConnectionSlot {
    /// Stores what a request has changed in the connection.
    pub fn note_state(&self, connection: &Connection) {
        self.checks.store(connection.checks, Ordering::Relaxed);
        let at = connection.login_time;
        *lock(&self.login) = connection.user.map(|user| LoginRecord { user, at });
    }

    /// The login after the last request.
    pub fn login(&self) -> Option<LoginRecord> {
        *lock(&self.login)
    }

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
    numbers: BTreeMap<u16, Peer>,
    /// The largest number of connections at the same time.
    peak: u16,
    locks: LockTables,
}

impl ConnectionTable {
    /// An empty table for up to `limit` connections, which share `locks`.
    pub fn new(limit: u16, locks: LockTables) -> Self {
        Self {
            // 0xFFFF is the number in a create request, so it can belong to no connection.
            limit: limit.min(NO_CONNECTION - 1),
            peers: HashMap::new(),
            numbers: BTreeMap::new(),
            peak: 0,
            locks,
        }
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Number of connections, and the largest number so far.
    pub fn counts(&self) -> (usize, u16) {
        (self.peers.len(), self.peak)
    }

    /// The client of a connection number in use.
    pub fn peer(&self, number: u16) -> Option<Peer> {
        self.numbers.get(&number).copied()
    }

    /// The connection with a number.
    pub fn numbered(&self, number: u16) -> Option<Arc<ConnectionSlot>> {
        self.get(self.peer(number)?)
    }

    /// The numbers above `last` of the connections of a user, in ascending order.
    pub fn numbers_of(&self, user: usize, last: u16) -> Vec<u16> {
        let is_of_user = |peer: &Peer| {
            let login = self.peers.get(peer).and_then(|known| known.login());
            login.is_some_and(|login| login.user == user)
        };
        let later = self.numbers.range((Bound::Excluded(last), Bound::Unbounded));
        later.filter(|(_, peer)| is_of_user(peer)).map(|(number, _)| *number).collect()
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
        let number = (1..=self.limit).find(|number| !self.numbers.contains_key(number))?;
        let known = ConnectionSlot {
            connection: Mutex::new(Connection::new(number, peer.into(), &self.locks)?),
            number,
            transport,
            heard_ms: AtomicU64::new(0),
            queries: AtomicU64::new(0),
            checks: AtomicBool::new(false),
            login: Mutex::new(None),
        };
        known.note_activity(now);
        self.numbers.insert(number, peer);
        self.peers.insert(peer, Arc::new(known));
        // At most `limit` connections, which is 16 bits.
        self.peak = self.peak.max(self.peers.len() as u16);
        Some(number)
    }

    fn remove_silent(&mut self, now: Duration) {
        let heard = |known: &ConnectionSlot| Duration::from_millis(known.heard_ms.load(Ordering::Relaxed));
        let silent = self
            .peers
            .iter()
            .filter(|(_, known)| known.login().is_none() && now.saturating_sub(heard(known)) >= MIN_SILENCE);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_client_is_queried_and_removed_after_the_times_of_the_watchdog() {
        let mut table = ConnectionTable::new(10, LockTables::default());
        let silent = Peer::Ip("192.0.2.7:4000".parse().unwrap());
        let alive = Peer::Ip("192.0.2.8:4000".parse().unwrap());
        for peer in [silent, alive] {
            table.create(peer, TransportKind::Udp, Duration::ZERO);
        }
        let watchdog = Watchdog::new(Duration::from_secs(10), 3);
        let mut queries = Vec::new();
        for second in 0.. {
            let now = Duration::from_secs(second);
            if let Some(known) = table.get(alive) {
                known.note_activity(now);
            }
            let (queried, gone) = table.idle_clients(now, watchdog);
            queries.extend(queried.into_iter().map(|(peer, _)| (second, peer)));
            if !gone.is_empty() {
                assert_eq!((second, gone), (16, vec![silent]));
                break;
            }
        }
        assert_eq!(queries, [(10, silent), (12, silent), (14, silent)]);
    }
}
