//! The connections of a server by client and by number, and how long each has been silent.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::connection::Connection;
use super::in_use::InUse;
use super::options::{Peer, Watchdog};
use crate::security::signature::Transport;
use crate::wire::packet::NO_CONNECTION;

/// A connection and when its client was heard last.
#[derive(Debug)]
pub struct Known {
    pub connection: Mutex<Connection>,
    number: u16,
    transport: Transport,
    heard_ms: AtomicU64,
    /// Questions of the watchdog since then.
    asked: AtomicU64,
    /// Packets must have checksums.
    pub checks: AtomicBool,
}

impl Known {
    /// The client is alive.
    pub fn heard(&self, now: Duration) {
        self.heard_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        self.asked.store(0, Ordering::Relaxed);
    }
}

/// Clients, connections and the numbers taken.
#[derive(Debug)]
pub struct Table {
    most: u16,
    peers: HashMap<Peer, Arc<Known>>,
    numbers: BTreeSet<u16>,
    in_use: Arc<InUse>,
}

impl Table {
    /// An empty table that holds up to `most` connections, which share the files of `in_use`.
    pub fn new(most: u16, in_use: Arc<InUse>) -> Self {
        Self { most: most.min(NO_CONNECTION - 1), peers: HashMap::new(), numbers: BTreeSet::new(), in_use }
    }

    /// Connections there are.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// The connection of a client.
    pub fn get(&self, peer: Peer) -> Option<Arc<Known>> {
        self.peers.get(&peer).map(Arc::clone)
    }

    /// Forgets a client and its connection.
    pub fn remove(&mut self, peer: Peer) {
        if let Some(known) = self.peers.remove(&peer) {
            self.numbers.remove(&known.number);
        }
    }

    /// A new connection for a client, in place of its old one; none when the table is full.
    pub fn create(&mut self, peer: Peer, transport: Transport, now: Duration) -> Option<u16> {
        self.remove(peer);
        let number = (1..=self.most).find(|number| !self.numbers.contains(number))?;
        let known = Known {
            connection: Mutex::new(Connection::new(number, Arc::clone(&self.in_use))),
            number,
            transport,
            heard_ms: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            checks: AtomicBool::new(false),
        };
        known.heard(now);
        self.numbers.insert(number);
        self.peers.insert(peer, Arc::new(known));
        Some(number)
    }

    /// Clients on datagrams that are to be asked whether they are there, with their connections, and those that are gone.
    pub fn silent(&self, now: Duration, watchdog: Watchdog) -> (Vec<(Peer, u16)>, Vec<Peer>) {
        let (mut asked, mut gone) = (Vec::new(), Vec::new());
        for (peer, known) in self.peers.iter().filter(|(_, known)| known.transport != Transport::Tcp) {
            let heard = Duration::from_millis(known.heard_ms.load(Ordering::Relaxed));
            let questions = known.asked.load(Ordering::Relaxed) as u32;
            if now < heard + watchdog.after + watchdog.every * questions {
                continue;
            }
            if questions >= watchdog.questions {
                gone.push(*peer);
            } else {
                known.asked.store(u64::from(questions) + 1, Ordering::Relaxed);
                asked.push((*peer, known.number));
            }
        }
        (asked, gone)
    }
}
