//! Sockets of servers: what they listen on, and how replies leave them.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use sharebench_ncp::receive_buffer;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Attempts to find a port that is free for both TCP and UDP.
const PORT_TRIES: usize = 20;

/// A TCP listener for a runtime.
pub(crate) fn bind_tcp(addr: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

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
        let listener = bind_tcp(addr)?;
        match bind_udp(listener.local_addr()?) {
            Ok(socket) => return Ok((listener, socket)),
            // The port is in use for UDP; another may be free for both.
            Err(_) if addr.port() == 0 && tries < PORT_TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Sends replies; an error if the client does not receive them in time.
pub(crate) async fn send_within(
    stream: &TcpStream,
    mut unsent: &mut [IoSlice<'_>],
    io_timeout: Duration,
) -> io::Result<()> {
    // Without the empty ones at the beginning.
    IoSlice::advance_slices(&mut unsent, 0);
    let mut deadline = None;
    while !unsent.is_empty() {
        match stream.try_write_vectored(unsent) {
            Ok(count) => IoSlice::advance_slices(&mut unsent, count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + io_timeout);
                timeout_at(deadline, stream.writable()).await.map_err(|_| late_client())??;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The error of a client that does not receive its replies in time.
pub(crate) fn late_client() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client does not receive its replies")
}
