//! The NCP front end: a volume served as a bindery server of NetWare's Core Protocol, on TCP and UDP at one port.

#[cfg(test)]
mod attribute_tests;
mod datagrams;
mod ipx;
#[cfg(test)]
mod lock_tests;
mod options;
mod streams;
#[cfg(test)]
mod tests;
mod volume;
mod world;

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sharebench_ncp::security::signature::Transport;
use sharebench_ncp::server::{Collected, Datagrams, Peer, Server, World};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::Volume;
use crate::front_end::{FrontEnd, ServeError, check_exposure};
use crate::ncp::volume::ServedVolume;
use crate::ncp::world::Wall;

pub use options::{CommitPolicy, NcpServerOptions};

const PROTOCOL: &str = "ncp";
/// The same on IPX in UDP, which has connections of its own.
const ON_IPX: &str = "ncp-ipx";

/// Free ports tried until one is free for TCP and UDP alike.
const PORT_TRIES: usize = 20;

/// How often a request that waits for a lock is looked at, at least.
const LOOK: Duration = Duration::from_secs(1);

/// What all tasks share.
struct State {
    server: Server<ServedVolume, Wall>,
    /// Calls may wait for the volume, and are made off the threads that serve connections.
    blocks: bool,
    max_connections: usize,
    /// Clients on datagrams whose requests wait for a lock.
    awaited: Mutex<HashSet<Peer>>,
}

impl State {
    /// What is left to do for a datagram of a client, on a thread that may wait for the volume.
    fn work(&self, left: Collected, peer: Peer, transport: Transport, datagram: &[u8]) -> Datagrams {
        let mut out = Datagrams::new();
        match left {
            Collected::Answered => {}
            Collected::Call => self.server.receive_datagram(peer, transport, datagram, &mut out),
            Collected::Burst => self.server.execute_burst(peer, &mut out),
        }
        out
    }

    /// The answer to the last request of a client, when it waits for a lock; nothing at once when it does not.
    async fn waited(&self, peer: Peer) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            // What is given up between the question and the wait ends the wait.
            let released = self.server.world().released();
            let Some(until) = self.server.resume(peer, &mut out) else { return out };
            let pause = until.saturating_sub(self.server.world().now());
            // Late, released, or perhaps another wait by now: it is asked again.
            let _ = tokio::time::timeout(pause.min(LOOK), released).await;
        }
    }

    /// The same on datagrams, where each comes to a task of its own: one of them waits for a client, to the others there
    /// is nothing.
    async fn waited_alone(&self, peer: Peer) -> Vec<u8> {
        let awaited = || self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        while awaited().insert(peer) {
            let answer = self.waited(peer).await;
            awaited().remove(&peer);
            // A wait that has begun meanwhile has found this one in its place.
            let mut out = answer;
            if !out.is_empty() || self.server.resume(peer, &mut out).is_none() {
                return out;
            }
        }
        Vec::new()
    }
}

/// An NCP server over one volume, on threads of its own. Dropping it stops it.
pub struct NcpServer {
    protocol: &'static str,
    addr: SocketAddr,
    state: Arc<State>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl NcpServer {
    /// Serves `volume` on TCP and UDP at `addr`; port 0 lets the system choose.
    ///
    /// # Errors
    /// An address that others can reach without users, one that cannot be bound, options that the protocol does not
    /// take, or no threads.
    pub fn start(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let bind = |source| ServeError::Bind { protocol: PROTOCOL, addr, source };
        check_exposure(PROTOCOL, addr, !options.users.is_empty())?;
        let (listener, socket) = bind_both(addr).map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        Self::start_on(PROTOCOL, bound, volume, options, (Some(listener), socket))
    }

    /// Serves `volume` on IPX packets in UDP at `addr`, as `DOSBox` and RFC 1234 have them.
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub fn start_ipx(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let bind = |source| ServeError::Bind { protocol: ON_IPX, addr, source };
        check_exposure(ON_IPX, addr, !options.users.is_empty())?;
        let socket = UdpSocket::bind(addr).map_err(bind)?;
        socket.set_nonblocking(true).map_err(bind)?;
        let bound = socket.local_addr().map_err(bind)?;
        Self::start_on(ON_IPX, bound, volume, options, (None, socket))
    }

    fn start_on(
        protocol: &'static str,
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
        sockets: (Option<TcpListener>, UdpSocket),
    ) -> Result<Self, ServeError> {
        let blocks = !volume.never_blocks();
        let threads = options.threads.max(1);
        let max_connections = usize::from(options.max_connections);
        let server = options.build(volume)?;
        let state = Arc::new(State { server, blocks, max_connections, awaited: Mutex::default() });
        let (stop, _) = watch::channel(false);
        let mut started = Self { protocol, addr, state, stop, threads: Vec::new() };
        started.start_threads(sockets, threads).map_err(|source| ServeError::Threads { protocol, source })?;
        Ok(started)
    }

    /// With a listener the socket carries NCP itself, without one IPX.
    fn start_threads(
        &mut self,
        (listener, socket): (Option<TcpListener>, UdpSocket),
        threads: usize,
    ) -> io::Result<()> {
        let runtimes: io::Result<Vec<Runtime>> =
            (0..threads).map(|_| Builder::new_current_thread().enable_all().build()).collect();
        let runtimes = runtimes?;
        let handles = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let (accepting, receiving) = (Arc::clone(&self.state), Arc::clone(&self.state));
        if let (Some(first), Some(last)) = (runtimes.first(), runtimes.last()) {
            if let Some(listener) = listener {
                first.spawn(streams::accept(listener, accepting, handles));
                last.spawn(datagrams::serve(socket, receiving));
            } else {
                last.spawn(ipx::serve(socket, receiving));
            }
        }
        for runtime in runtimes {
            let mut stopped = self.stop.subscribe();
            let run = move || {
                // The sender outlives this thread, or is gone and stops it as well.
                let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
            };
            self.threads.push(std::thread::Builder::new().name("ncp-server".into()).spawn(run)?);
        }
        Ok(())
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Clients there are.
    pub fn connections(&self) -> usize {
        self.state.server.connections()
    }

    /// Closes the listener and every connection, and returns when its threads are gone.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked is gone as well.
            let _ = thread.join();
        }
    }
}

impl Drop for NcpServer {
    fn drop(&mut self) {
        self.halt();
    }
}

impl FrontEnd for NcpServer {
    fn protocol(&self) -> &'static str {
        self.protocol
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn stop(self: Box<Self>) {
        (*self).stop();
    }
}

/// Sockets of TCP and UDP at one port, the system's choice if it is 0.
fn bind_both(addr: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut tries = 0;
    loop {
        let listener = TcpListener::bind(addr)?;
        match UdpSocket::bind(listener.local_addr()?) {
            Ok(socket) => {
                listener.set_nonblocking(true)?;
                socket.set_nonblocking(true)?;
                return Ok((listener, socket));
            }
            // Someone has that port for UDP: another may be free for both.
            Err(_) if addr.port() == 0 && tries < PORT_TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}
