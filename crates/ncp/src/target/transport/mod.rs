//! Transports over tokio sockets: TCP, UDP, IPX in UDP, and IPX on Ethernet.

pub(crate) mod ipx_socket;
pub(crate) mod server_search;
mod timer;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sharebench_client_core::TcpRoute;
use sharebench_target::buffer_pool;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::Instant;

use crate::client::Transport;
use crate::receive_buffer;
use crate::target::options::NcpOptions;
use crate::target::transport::ipx_socket::IpxSocket;
use crate::target::transport::timer::Timer;
use crate::wire::TransportKind;
use crate::wire::ipx::socket::NCP;
use crate::wire::tcp::{Direction, message_len};

/// Bytes of a reply in addition to file data: headers, signature, and names in replies without data.
const OVERHEAD: usize = 1024;

/// A [`Transport`] over a tokio socket, with its receive buffer.
///
/// It owns the socket and one buffer for received messages. The message that was returned last occupies the first
/// `shown` bytes; on TCP, the start of the next one may follow. While the connection is idle, the buffer goes back to
/// a pool, so that thousands of connections need little memory.
#[derive(Debug)]
pub(crate) struct SocketTransport {
    socket: Socket,
    start: Instant,
    timer: Timer,
    /// Empty while the connection is idle.
    input: Box<[u8]>,
    input_bytes: usize,
    /// Bytes received, and the length of the message at the front.
    filled: usize,
    shown: usize,
    /// Bytes of the outgoing message that have been sent.
    sent: usize,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    /// The socket to the server and, during probing, the socket for probes.
    Udp(UdpSocket, Option<UdpSocket>),
    Ipx(IpxSocket),
}

impl SocketTransport {
    /// Connects to a server, by the first of its addresses that accepts; replies have up to `buffer` data bytes. Datagrams
    /// go to the first address, because a datagram to a wrong one fails like one to a silent server.
    pub(crate) async fn connect(
        options: &NcpOptions,
        servers: &[SocketAddr],
        buffer: u16,
    ) -> io::Result<Self> {
        let [server, ..] = servers else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        let socket = match options.transport {
            TransportKind::Tcp => Socket::Tcp(first_that_accepts(servers, &options.tcp).await?),
            TransportKind::Udp => Socket::Udp(datagrams(*server).await?, None),
            // `transport=ether` is set up elsewhere, because Ethernet has no IP addresses.
            TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => {
                Socket::Ipx(IpxSocket::register(datagrams(*server).await?, options.retry).await?)
            }
        };
        Ok(Self::new(socket, buffer))
    }

    /// A transport over an IPX socket whose server is known.
    pub(crate) fn on(socket: IpxSocket, buffer: u16) -> Self {
        Self::new(Socket::Ipx(socket), buffer)
    }

    fn new(socket: Socket, buffer: u16) -> Self {
        Self {
            socket,
            start: Instant::now(),
            timer: Timer::new(),
            input: Box::default(),
            input_bytes: usize::from(buffer) + OVERHEAD,
            filled: 0,
            shown: 0,
            sent: 0,
        }
    }

    pub(crate) fn local_addr(&self) -> Option<String> {
        match &self.socket {
            Socket::Tcp(stream) => stream.local_addr().ok().map(|addr| addr.to_string()),
            Socket::Udp(socket, _) => socket.local_addr().ok().map(|addr| addr.to_string()),
            Socket::Ipx(ipx) => ipx.local_addr(),
        }
    }

    /// Frees the buffer unless it has received bytes of a further message.
    pub(crate) fn release_buffers(&mut self) {
        if self.filled == self.shown {
            self.filled = 0;
            self.shown = 0;
            buffer_pool::give_back(&mut self.input);
        }
    }

    /// True when a complete message is at the front of the buffer.
    fn is_whole(&mut self) -> io::Result<bool> {
        let len = message_len(Direction::Reply, &self.input[..self.filled]);
        let Some(len) = len.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))? else {
            return Ok(false);
        };
        if len > self.input_bytes {
            let detail = format!("a message of {len} bytes exceeds the largest expected reply");
            return Err(io::Error::new(ErrorKind::InvalidData, detail));
        }
        if len <= self.filled {
            self.shown = len;
        }
        Ok(len <= self.filled)
    }

    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        buffer_pool::ensure(&mut self.input, self.input_bytes);
        let mut unfilled = ReadBuf::new(&mut self.input[self.filled..]);
        match &mut self.socket {
            Socket::Tcp(stream) => {
                ready!(Pin::new(stream).poll_read(cx, &mut unfilled))?;
                let received = unfilled.filled().len();
                if received == 0 {
                    return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
                }
                self.filled += received;
                Poll::Ready(self.is_whole())
            }
            Socket::Udp(socket, _) => {
                ready!(socket.poll_recv(cx, &mut unfilled))?;
                self.filled = unfilled.filled().len();
                self.shown = self.filled;
                Poll::Ready(Ok(true))
            }
            Socket::Ipx(ipx) => {
                self.shown = ready!(ipx.poll_receive(cx, &mut self.input))?.unwrap_or(0);
                self.filled = self.shown;
                Poll::Ready(Ok(self.shown > 0))
            }
        }
    }
}

/// A connection to the first address that accepts one.
async fn first_that_accepts(servers: &[SocketAddr], tcp: &TcpRoute) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(ErrorKind::AddrNotAvailable);
    for server in servers {
        match tcp.connect(*server).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// A UDP socket that receives from the server only.
async fn datagrams(server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(any(server)).await?;
    socket.connect(server).await?;
    // Best effort: a burst that overruns a smaller buffer is requested again.
    let _ = receive_buffer::grow(&socket, receive_buffer::OF_CLIENT);
    Ok(socket)
}

/// A UDP socket that receives from another port of the same server.
fn probe_socket(server: &UdpSocket, port: u16) -> io::Result<UdpSocket> {
    let mut addr = server.peer_addr()?;
    addr.set_port(port);
    let socket = std::net::UdpSocket::bind(any(addr))?;
    socket.connect(addr)?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

/// Any local port of the address family of the server.
fn any(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

impl Transport for SocketTransport {
    fn kind(&self) -> TransportKind {
        match &self.socket {
            Socket::Tcp(_) => TransportKind::Tcp,
            Socket::Udp(..) => TransportKind::Udp,
            Socket::Ipx(ipx) => ipx.kind(),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
        deadline: Duration,
    ) -> Poll<io::Result<()>> {
        while self.sent < message.len() {
            let rest = &message[self.sent..];
            let sending = match &mut self.socket {
                Socket::Tcp(stream) => Pin::new(stream).poll_write(cx, rest),
                Socket::Udp(socket, _) => socket.poll_send(cx, rest),
                Socket::Ipx(ipx) => ipx.poll_send(cx, NCP, rest),
            };
            match sending {
                Poll::Ready(Ok(sent)) => self.sent += sent,
                Poll::Ready(Err(error)) => {
                    self.sent = 0;
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    ready!(self.timer.poll(cx, self.start + deadline));
                    self.sent = 0;
                    return Poll::Ready(Err(ErrorKind::TimedOut.into()));
                }
            }
        }
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        // Probing has ended, because the client waits for a reply.
        if let Socket::Udp(_, probes) = &mut self.socket {
            *probes = None;
        }
        if self.shown > 0 {
            self.input.copy_within(self.shown..self.filled, 0);
            self.filled -= self.shown;
            self.shown = 0;
            // One read may have received the next message as well.
            if self.filled > 0 && self.is_whole()? {
                return Poll::Ready(Ok(true));
            }
        }
        loop {
            match self.poll_input(cx) {
                // The message is incomplete, or a packet was not for this client: more input is read.
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(done) => return Poll::Ready(done),
                Poll::Pending => {
                    ready!(self.timer.poll(cx, self.start + until));
                    return Poll::Ready(Ok(false));
                }
            }
        }
    }

    fn message(&self) -> &[u8] {
        &self.input[..self.shown]
    }

    fn has_checksums(&self) -> bool {
        matches!(&self.socket, Socket::Ipx(ipx) if ipx.has_checksums())
    }

    fn use_checksums(&mut self, on: bool) {
        if let Socket::Ipx(ipx) = &mut self.socket {
            ipx.use_checksums(on);
        }
    }

    fn is_routed(&self) -> bool {
        matches!(&self.socket, Socket::Ipx(ipx) if ipx.is_routed())
    }

    fn poll_send_probe(
        &mut self,
        cx: &mut Context<'_>,
        socket: u16,
        probe: &[u8],
        deadline: Duration,
    ) -> Poll<io::Result<()>> {
        let sending = match &mut self.socket {
            Socket::Tcp(_) => return Poll::Ready(Err(ErrorKind::Unsupported.into())),
            Socket::Udp(server, probes) => {
                let probes = match probes {
                    Some(probes) => probes,
                    none => none.insert(probe_socket(server, socket)?),
                };
                probes.poll_send(cx, probe)
            }
            Socket::Ipx(ipx) => ipx.poll_send(cx, socket, probe),
        };
        if let Poll::Ready(sent) = sending {
            return Poll::Ready(sent.map(|_| ()));
        }
        ready!(self.timer.poll(cx, self.start + deadline));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }

    fn poll_receive_probe(&mut self, cx: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        let Socket::Udp(_, Some(probes)) = &mut self.socket else { return self.poll_receive(cx, until) };
        buffer_pool::ensure(&mut self.input, self.input_bytes);
        let mut unfilled = ReadBuf::new(&mut self.input);
        if let Poll::Ready(received) = probes.poll_recv(cx, &mut unfilled) {
            self.shown = unfilled.filled().len();
            self.filled = unfilled.filled().len();
            return Poll::Ready(received.map(|()| true));
        }
        ready!(self.timer.poll(cx, self.start + until));
        Poll::Ready(Ok(false))
    }
}
