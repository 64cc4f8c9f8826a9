//! Blocking transports for programs without a runtime: TCP and UDP sockets of the standard library.

use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::transport::Transport;
use crate::receive_buffer;
use crate::wire::TransportKind;
use crate::wire::tcp::{Direction, MAX_MESSAGE, message_len};

const CHUNK: usize = 64 << 10;

/// Runs a future of a [`super::Client`] over a blocking transport on this thread.
///
/// ```no_run
/// use sharebench_ncp::client::{Access, Client, Login, Options, Path, TcpTransport, block_on};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// block_on(async {
///     let options = Options::default();
///     let transport = TcpTransport::connect("127.0.0.1:524".parse()?, options.timeout)?;
///     let mut client = Client::connect(transport, options).await?;
///     client.login(Login { user: "guest", password: "" }).await?;
///     let (file, about) = client.open(&Path::dos("SYS:README.TXT")?, Access::Read, false).await?;
///     let mut text = vec![0; about.size as usize];
///     client.read(file, 0, &mut text).await?;
///     client.disconnect().await?;
///     Ok(())
/// })
/// # }
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // A blocking transport is always ready, so this loop runs once.
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// A blocking TCP transport.
#[derive(Debug)]
pub struct TcpTransport {
    stream: TcpStream,
    start: Instant,
    input: Vec<u8>,
    taken: usize,
}

impl TcpTransport {
    /// Connects to a server.
    pub fn connect(server: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&server, timeout)?;
        // A request is one small message that is awaited; Nagle's algorithm would delay it.
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self { stream, start: Instant::now(), input: Vec::new(), taken: 0 })
    }

    /// Reads until a message is complete; returns its length.
    fn receive(&mut self, until: Duration) -> io::Result<usize> {
        loop {
            let whole = message_len(Direction::Reply, &self.input);
            let whole = whole.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if let Some(len) = whole.filter(|len| *len <= self.input.len()) {
                return Ok(len);
            }
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            // `None` would wait for ever and zero is an error, so an expired deadline returned above.
            self.stream.set_read_timeout(Some(left))?;
            let start = self.input.len();
            self.input.resize(start + CHUNK, 0);
            let read = self.stream.read(&mut self.input[start..]);
            self.input.truncate(start + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if !is_timeout(&error) && error.kind() != ErrorKind::Interrupted => {
                    return Err(error);
                }
                _ => {}
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Transport for TcpTransport {
    fn kind(&self) -> TransportKind {
        TransportKind::Tcp
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn poll_send(&mut self, _: &mut Context<'_>, message: &[u8], _: Duration) -> Poll<io::Result<()>> {
        let sent = self.stream.write_all(message);
        Poll::Ready(sent.map_err(|error| if is_timeout(&error) { ErrorKind::TimedOut.into() } else { error }))
    }

    fn poll_receive(&mut self, _: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        self.input.drain(..self.taken);
        self.taken = 0;
        Poll::Ready(match self.receive(until) {
            Ok(len) => {
                self.taken = len;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(error),
        })
    }

    fn message(&self) -> &[u8] {
        &self.input[..self.taken]
    }
}

/// A blocking UDP transport.
#[derive(Debug)]
pub struct UdpTransport {
    socket: UdpSocket,
    start: Instant,
    input: Vec<u8>,
    taken: usize,
}

impl UdpTransport {
    /// Opens a socket that receives from this server only.
    pub fn connect(server: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let any = match server {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        // A connected UDP socket discards datagrams of other senders in the kernel.
        socket.connect(server)?;
        // Best effort: what overruns a smaller buffer is retransmitted.
        let _ = receive_buffer::grow(&socket, receive_buffer::OF_CLIENT);
        socket.set_write_timeout(Some(timeout))?;
        Ok(Self { socket, start: Instant::now(), input: vec![0; MAX_MESSAGE], taken: 0 })
    }
}

impl Transport for UdpTransport {
    fn kind(&self) -> TransportKind {
        TransportKind::Udp
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn poll_send(&mut self, _: &mut Context<'_>, message: &[u8], _: Duration) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.send(message).map(|_| ()))
    }

    fn poll_receive(&mut self, _: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        self.taken = 0;
        let left = until.saturating_sub(self.now());
        if left.is_zero() {
            return Poll::Ready(Ok(false));
        }
        let read = self.socket.set_read_timeout(Some(left)).and_then(|()| self.socket.recv(&mut self.input));
        Poll::Ready(match read {
            Ok(len) => {
                self.taken = len;
                Ok(true)
            }
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        })
    }

    fn message(&self) -> &[u8] {
        &self.input[..self.taken]
    }
}
