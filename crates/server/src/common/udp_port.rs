//! Sockets of servers that answer over UDP, and over TCP at the same port.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use sharebench_ncp::receive_buffer;

/// Attempts to find a port that is free for both TCP and UDP.
const PORT_TRIES: usize = 20;

/// A UDP socket for a runtime, with a receive buffer for the datagrams of all clients.
pub(crate) fn bind_udp(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(addr)?;
    socket.set_nonblocking(true)?;
    // A smaller buffer costs retransmissions, which is no reason not to serve.
    match receive_buffer::grow(&socket, receive_buffer::OF_SERVER) {
        Ok(bytes) => tracing::debug!(%addr, bytes, "receive buffer of datagrams"),
        Err(error) => tracing::warn!(%addr, %error, "receive buffer of datagrams not enlarged"),
    }
    Ok(socket)
}

/// TCP and UDP sockets at one port; with port 0 the system selects it.
pub(crate) fn bind_both(addr: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut tries = 0;
    loop {
        let listener = TcpListener::bind(addr)?;
        match bind_udp(listener.local_addr()?) {
            Ok(socket) => {
                listener.set_nonblocking(true)?;
                return Ok((listener, socket));
            }
            // The port is in use for UDP; another may be free for both.
            Err(_) if addr.port() == 0 && tries < PORT_TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}
