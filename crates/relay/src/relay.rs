//! A relay: a listener on this machine, and the thread that forwards its connections.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;

use crate::counters::RelayCounters;
use crate::distance::Distance;
use crate::forwarder::{Forwarder, Shared, allowed_connections};
use crate::greeting::Greeting;

/// Forwards the connections to one address of this machine to a target.
///
/// The relay has one thread, whatever the number of connections, and a bounded amount of memory: at most 16 MiB for each
/// direction of a connection, and 256 MiB in all. A sender that is faster waits. The number of connections has a limit;
/// further clients wait until another connection ends. After the handle was dropped the relay accepts no further
/// connections, and its thread ends with the last one.
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Relay {
    /// The most connections at the same time, where the descriptors of the process allow them.
    pub const MAX_CONNECTIONS: usize = 4_096;

    /// The most connections for which this process has descriptors, after it raised its soft limit to the hard one.
    pub fn allowed_connections() -> usize {
        allowed_connections(Self::MAX_CONNECTIONS)
    }

    /// Listens at `listen`, whose port may be 0, and forwards to `target` over a distance.
    ///
    /// # Errors
    /// The address cannot be used, or the system has no thread or descriptor left.
    pub fn start(
        listen: SocketAddr,
        target: SocketAddr,
        distance: Distance,
        greeting: Greeting,
    ) -> io::Result<Self> {
        Self::start_limited(listen, target, distance, greeting, Self::MAX_CONNECTIONS)
    }

    /// The same with at most `limit` connections at the same time.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_limited(
        listen: SocketAddr,
        target: SocketAddr,
        distance: Distance,
        greeting: Greeting,
        limit: usize,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let (opened, opening) = mpsc::channel();
        thread::Builder::new().name("relay".into()).spawn(move || {
            let forwarder = Forwarder::open(listen, target, distance, greeting, limit, theirs);
            match forwarder.and_then(|forwarder| Ok((forwarder.address()?, forwarder))) {
                Ok((address, forwarder)) => {
                    let _ = opened.send(Ok(address));
                    // A failure closes all connections, which their clients report.
                    let _ = forwarder.run();
                }
                Err(error) => drop(opened.send(Err(error))),
            }
        })?;
        let address = opening.recv().map_err(|_| io::Error::other("the thread of the relay ended"))??;
        Ok(Self { address, shared })
    }

    /// The address of its listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has forwarded so far.
    pub fn counters(&self) -> RelayCounters {
        self.shared.counters.read()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}
