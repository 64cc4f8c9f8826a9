//! The NCP front end: serves a volume as a NetWare bindery server, on TCP and UDP at one port, on IPX in UDP, and on
//! Ethernet.

#[cfg(test)]
mod attribute_tests;
#[cfg(test)]
mod bindery_tests;
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
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sharebench_ncp::server::{Datagrams, Environment, MAX_PACKET, Peer, PendingWork, Server};
use sharebench_ncp::wire::TransportKind;

use crate::Volume;
use crate::common::admission::Admissions;
use crate::common::front_end::{FrontEnd, ServeError, check_exposure};
use crate::common::udp_port::{bind_both, bind_udp};
use crate::ncp::environment::SystemEnvironment;
use crate::ncp::options::TransportLimits;
use crate::ncp::threads::{ServerThreads, Sockets};
use crate::ncp::volume::ServedVolume;

pub use ether::{NcpEtherOptions, NcpEtherServer};
pub use options::{BinderyProfile, CommitPolicy, NameSpaces, NcpServerOptions};

const PROTOCOL: &str = "ncp";
/// The protocol name of IPX in UDP, which has separate connections.
const ON_IPX: &str = "ncp-ipx";

/// The longest interval between two checks of a waiting request.
const LOOK: Duration = Duration::from_secs(1);

/// The state that all tasks of a server share.
struct ServerState {
    server: Server<ServedVolume, SystemEnvironment>,
    /// True when calls may block and therefore run on other threads.
    blocks: bool,
    max_connections: usize,
    admissions: Arc<Admissions>,
    patience: Duration,
    /// Interval of checks for idle clients.
    watch: Duration,
    /// Clients on datagrams for which a task waits for a lock.
    awaited: Mutex<HashSet<Peer>>,
}

impl ServerState {
    /// Does the remaining work for a datagram, on a thread that may block.
    fn work(&self, left: PendingWork, peer: Peer, transport: TransportKind, datagram: &[u8]) -> Datagrams {
        let mut out = Datagrams::new();
        match left {
            PendingWork::Done => {}
            PendingWork::Call => self.server.receive_datagram(peer, transport, datagram, &mut out),
            PendingWork::Burst => self.server.execute_burst(peer, &mut out),
        }
        out
    }

    /// Waits for the reply to a request that waits for a lock; empty if the client has no such request.
    async fn waited(&self, peer: Peer) -> Vec<u8> {
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
    async fn waited_alone(&self, peer: Peer) -> Vec<u8> {
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

/// An NCP server over one volume, on threads of its own.
///
/// It owns the protocol server, the sockets and the threads. [`Self::start`] serves TCP and UDP, [`Self::start_ipx`]
/// serves IPX in UDP; [`NcpEtherServer`] serves Ethernet. Dropping it stops the server and closes all connections.
pub struct NcpServer {
    protocol: &'static str,
    addr: SocketAddr,
    threads: ServerThreads,
}

impl NcpServer {
    /// Serves `volume` on TCP and UDP at `addr`; with port 0 the system selects a port.
    ///
    /// # Errors
    /// The address is reachable by others although there are no accounts, or cannot be bound; invalid options; threads
    /// cannot be started.
    pub fn start(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let bind = |source| ServeError::Bind { protocol: PROTOCOL, addr, source };
        check_exposure(PROTOCOL, addr, !options.accounts.is_empty())?;
        let (listener, socket) = bind_both(addr).map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let echo = bind_udp((addr.ip(), 0).into()).map_err(bind)?;
        let echo_socket = echo.local_addr().map_err(bind)?.port();
        let limits = TransportLimits { checksums: false, echo_socket, max_packet: MAX_PACKET };
        let transports = Sockets::Ip { listener, socket, echo };
        let threads = ServerThreads::start(PROTOCOL, volume, options, limits, transports)?;
        Ok(Self { protocol: PROTOCOL, addr: bound, threads })
    }

    /// Serves `volume` on IPX in UDP at `addr` (RFC 1234 and `DOSBox`).
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub fn start_ipx(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let bind = |source| ServeError::Bind { protocol: ON_IPX, addr, source };
        check_exposure(ON_IPX, addr, !options.accounts.is_empty())?;
        let socket = bind_udp(addr).map_err(bind)?;
        let bound = socket.local_addr().map_err(bind)?;
        let limits = TransportLimits { checksums: false, echo_socket: ipx::ECHO, max_packet: MAX_PACKET };
        let threads = ServerThreads::start(ON_IPX, volume, options, limits, Sockets::IpxInUdp(socket))?;
        Ok(Self { protocol: ON_IPX, addr: bound, threads })
    }

    /// The local address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.threads.state.server.connections()
    }

    /// Closes the sockets and all connections, and returns when the threads have ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl FrontEnd for NcpServer {
    fn protocol(&self) -> &'static str {
        self.protocol
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }
}
