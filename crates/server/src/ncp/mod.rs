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
mod state;
mod streams;
#[cfg(test)]
mod tests;
mod threads;
mod volume;

use std::net::SocketAddr;
use std::sync::Arc;

use sharebench_ncp::server::MAX_PACKET;

use crate::Volume;
use crate::front_ends::front_end::{FrontEnd, ServeError, check_exposure};
use crate::front_ends::sockets::{bind_both, bind_udp};
use crate::ncp::options::{PROTOCOL, TransportLimits};
use crate::ncp::threads::{ServerThreads, Sockets};

pub use ether::{NcpEtherOptions, NcpEtherServer};
pub use options::{BinderyProfile, CommitPolicy, NameSpaces, NcpServerOptions};

/// The protocol name of IPX in UDP, which has separate connections.
const ON_IPX: &str = "ncp-ipx";

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
