//! The NCP front end: a volume served as a bindery server of NetWare's Core Protocol, on TCP and UDP at one port.

#[cfg(test)]
mod attribute_tests;
mod datagrams;
mod environment;
mod ether;
mod ipx;
mod ipx_link;
#[cfg(test)]
mod lock_tests;
mod options;
mod services;
mod streams;
#[cfg(test)]
mod tests;
mod threads;
mod volume;

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sharebench_ncp::server::{Datagrams, Environment, MAX_PACKET, Peer, PendingWork, Server};
use sharebench_ncp::wire::TransportKind;

use crate::Volume;
use crate::front_end::{FrontEnd, ServeError, check_exposure};
use crate::ncp::environment::SystemEnvironment;
use crate::ncp::options::TransportLimits;
use crate::ncp::threads::{ServerThreads, Sockets};
use crate::ncp::volume::ServedVolume;

pub use ether::{NcpEtherOptions, NcpEtherServer};
pub use options::{CommitPolicy, NcpServerOptions};

const PROTOCOL: &str = "ncp";
/// The same on IPX in UDP, which has connections of its own.
const ON_IPX: &str = "ncp-ipx";

/// Free ports tried until one is free for TCP and UDP alike.
const PORT_TRIES: usize = 20;

/// How often a request that waits for a lock is looked at, at least.
const LOOK: Duration = Duration::from_secs(1);

/// What all tasks share.
struct ServerState {
    server: Server<ServedVolume, SystemEnvironment>,
    /// Calls may wait for the volume, and are made off the threads that serve connections.
    blocks: bool,
    max_connections: usize,
    patience: Duration,
    /// How often silent clients are looked for.
    watch: Duration,
    /// Clients on datagrams whose requests wait for a lock.
    awaited: Mutex<HashSet<Peer>>,
}

impl ServerState {
    /// What is left to do for a datagram of a client, on a thread that may wait for the volume.
    fn work(&self, left: PendingWork, peer: Peer, transport: TransportKind, datagram: &[u8]) -> Datagrams {
        let mut out = Datagrams::new();
        match left {
            PendingWork::Done => {}
            PendingWork::Call => self.server.receive_datagram(peer, transport, datagram, &mut out),
            PendingWork::Burst => self.server.execute_burst(peer, &mut out),
        }
        out
    }

    /// The answer to the last request of a client, when it waits for a lock; nothing at once when it does not.
    async fn waited(&self, peer: Peer) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            // What is given up between the question and the wait ends the wait.
            let released = self.server.environment().released();
            let Some(until) = self.server.resume(peer, &mut out) else { return out };
            let pause = until.saturating_sub(self.server.environment().now());
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
    threads: ServerThreads,
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
        let echo = bind_udp((addr.ip(), 0).into()).map_err(bind)?;
        let echo_socket = echo.local_addr().map_err(bind)?.port();
        let limits = TransportLimits { checksums: false, echo_socket, max_packet: MAX_PACKET };
        let transports = Sockets::Ip { listener, socket, echo };
        let threads = ServerThreads::start(PROTOCOL, volume, options, limits, transports)?;
        Ok(Self { protocol: PROTOCOL, addr: bound, threads })
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
        let socket = bind_udp(addr).map_err(bind)?;
        let bound = socket.local_addr().map_err(bind)?;
        let limits = TransportLimits { checksums: false, echo_socket: ipx::ECHO, max_packet: MAX_PACKET };
        let threads = ServerThreads::start(ON_IPX, volume, options, limits, Sockets::IpxInUdp(socket))?;
        Ok(Self { protocol: ON_IPX, addr: bound, threads })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Clients there are.
    pub fn connections(&self) -> usize {
        self.threads.state.server.connections()
    }

    /// Closes the listener and every connection, and returns when its threads are gone.
    pub fn stop(mut self) {
        self.threads.halt();
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

/// A socket of UDP for a runtime.
fn bind_udp(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(addr)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
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
