//! The state that all tasks of a server share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sharebench_ncp::server::{Datagrams, Environment, Peer, PendingWork, Server};
use sharebench_ncp::wire::TransportKind;

use crate::front_ends::admission::Admissions;
use crate::ncp::environment::SystemEnvironment;
use crate::ncp::volume::ServedVolume;

/// The longest interval between two checks of a waiting request.
const LOOK: Duration = Duration::from_secs(1);

/// The state that all tasks of a server share.
pub(super) struct ServerState {
    pub(super) server: Server<ServedVolume, SystemEnvironment>,
    /// True when calls may block and therefore run on other threads.
    pub(super) blocks: bool,
    pub(super) max_connections: usize,
    pub(super) admissions: Arc<Admissions>,
    pub(super) patience: Duration,
    /// Interval of checks for idle clients.
    pub(super) watch: Duration,
    /// Clients on datagrams for which a task waits for a lock.
    pub(super) awaited: Mutex<HashSet<Peer>>,
}

impl ServerState {
    /// Does the remaining work for a datagram, on a thread that may block.
    pub(super) fn work(
        &self,
        left: PendingWork,
        peer: Peer,
        transport: TransportKind,
        datagram: &[u8],
    ) -> Datagrams {
        let mut out = Datagrams::new();
        match left {
            PendingWork::Done => {}
            PendingWork::Call => self.server.receive_datagram(peer, transport, datagram, &mut out),
            PendingWork::Burst => self.server.execute_burst(peer, &mut out),
        }
        out
    }

    /// Waits for the reply to a request that waits for a lock; empty if the client has no such request.
    pub(super) async fn waited(&self, peer: Peer) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            // Registered before the check, so that a release between the check and the wait is not missed.
            let released = self.server.environment().released();
            let Some(until) = self.server.resume(peer, &mut out) else { return out };
            let pause = until.saturating_sub(self.server.environment().now());
            // Timeout or release: the request is checked again in both cases.
            let _ = tokio::time::timeout(pause.min(LOOK), released).await;
        }
    }

    /// The same for datagrams, each of which has a task of its own: only one task per client waits, the others return
    /// an empty reply.
    pub(super) async fn waited_alone(&self, peer: Peer) -> Vec<u8> {
        let awaited = || self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        while awaited().insert(peer) {
            let answer = self.waited(peer).await;
            awaited().remove(&peer);
            // A wait that began meanwhile saw this task registered, so this task takes it over.
            let mut out = answer;
            if !out.is_empty() || self.server.resume(peer, &mut out).is_none() {
                return out;
            }
        }
        Vec::new()
    }
}
