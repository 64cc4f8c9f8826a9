//! A TCP proxy on loopback that injects faults of networks and peers.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum bytes of one piece if the stream is not split into messages.
const PIECE: usize = 64 << 10;

/// Direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// How the proxy splits a stream into pieces for [`FaultProxy::tamper`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// SMB messages or fragments of NFS records, each with its length prefix of four bytes.
    Messages,
    /// Pieces as they are received.
    Bytes,
}

/// Replaces a message by any number of messages. One thread at a time calls it.
type Tamper = Box<dyn FnMut(Way, Vec<u8>) -> Vec<Vec<u8>> + Send>;

#[derive(Default)]
struct State {
    /// The proxy stops reading and accepting; only the kernel accepts connections.
    swallows: bool,
    bytes_per_s: Option<u64>,
    delay: Duration,
    ends: bool,
    links: Vec<Link>,
}

/// The connection of a client and the one to the server.
struct Link {
    client: TcpStream,
    server: TcpStream,
    /// The proxy drops the bytes of the client and sends nothing.
    half_open: Arc<AtomicBool>,
}

impl Link {
    fn reset(self) {
        for end in [&self.client, &self.server] {
            // A close with this option is a reset. The pumps' ends are the same sockets.
            let _ = rustix::net::sockopt::set_socket_linger(end, Some(Duration::ZERO));
            let _ = end.shutdown(Shutdown::Read);
        }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    tamper: Mutex<Option<Tamper>>,
}

/// Forwards connections to a port of `127.0.0.1`, unchanged until a fault is set. Dropping it closes the connections.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxy").field("port", &self.port).finish_non_exhaustive()
    }
}

impl FaultProxy {
    /// Opens a port that forwards to the port of a server, which may start later.
    pub fn start(server_port: u16, cut: Cut) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared =
            Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), tamper: Mutex::new(None) });
        let theirs = Arc::clone(&shared);
        let accepting = thread::spawn(move || accept(&listener, server_port, cut, &theirs));
        Ok(Self { port, shared, accepting: Some(accepting) })
    }

    /// Returns the port for clients.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Number of connections that the server has accepted, without those that were reset.
    pub fn accepted(&self) -> usize {
        self.shared.state().links.len()
    }

    /// Forwards unchanged from now on, and delivers the data that were held back.
    pub fn heal(&self) {
        *lock(&self.shared.tamper) = None;
        let mut state = self.shared.state();
        (state.swallows, state.bytes_per_s, state.delay) = (false, None, Duration::ZERO);
        self.shared.changed.notify_all();
    }

    /// Resets every connection on both sides. Later connections are forwarded.
    pub fn reset(&self) {
        self.shared.state().links.drain(..).for_each(Link::reset);
    }

    /// Resets one connection on both sides: the one with this index among those that were accepted and not reset, in the
    /// order of their acceptance.
    pub fn reset_one(&self, index: usize) {
        self.shared.state().links.remove(index).reset();
    }

    /// Keeps every client connected while the other end is gone: what it sends is acknowledged, and no reply
    /// comes. Later connections are forwarded.
    pub fn leave_half_open(&self) {
        for link in self.shared.state().links.drain(..) {
            link.half_open.store(true, Ordering::SeqCst);
            let _ = link.server.shutdown(Shutdown::Both);
        }
    }

    /// Stops reading and sending on all connections until [`Self::heal`].
    pub fn swallow(&self) {
        self.shared.state().swallows = true;
    }

    /// Limits each direction of each connection to this number of bytes per second, and delays each piece.
    pub fn slow_down(&self, bytes_per_s: u64, delay: Duration) {
        let mut state = self.shared.state();
        (state.bytes_per_s, state.delay) = (Some(bytes_per_s), delay);
    }

    /// Replaces each message by the result of `tamper`.
    pub fn tamper(&self, tamper: impl FnMut(Way, Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) {
        *lock(&self.shared.tamper) = Some(Box::new(tamper));
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.heal();
        self.shared.state().ends = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for link in self.shared.state().links.drain(..) {
            let _ = (link.client.shutdown(Shutdown::Both), link.server.shutdown(Shutdown::Both));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits while everything is held back, and then for the time that rate and delay require for these bytes.
    fn hold_back(&self, bytes: usize) {
        let state = self.state();
        let state = self.changed.wait_while(state, |state| state.swallows && !state.ends);
        let (rate, delay) = state.map_or((None, Duration::ZERO), |state| (state.bytes_per_s, state.delay));
        let sending = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate as f64));
        if sending + delay > Duration::ZERO {
            thread::sleep(sending + delay);
        }
    }

    fn tampered(&self, way: Way, message: Vec<u8>) -> Vec<Vec<u8>> {
        match &mut *lock(&self.tamper) {
            Some(tamper) => tamper(way, message),
            None => vec![message],
        }
    }
}

fn accept(listener: &TcpListener, server_port: u16, cut: Cut, shared: &Arc<Shared>) {
    while let Ok((client, _)) = listener.accept() {
        shared.hold_back(0);
        if shared.state().ends {
            return;
        }
        // A server that is not there is a connection that closes at once.
        let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port)) else { continue };
        let _ = link(client, server, cut, shared);
    }
}

fn link(client: TcpStream, server: TcpStream, cut: Cut, shared: &Arc<Shared>) -> io::Result<()> {
    let half_open = Arc::new(AtomicBool::new(false));
    for (from, to, way) in [(&client, &server, Way::ToServer), (&server, &client, Way::ToClient)] {
        from.set_nodelay(true)?;
        let from = from.try_clone()?;
        let to = to.try_clone()?;
        let shared = Arc::clone(shared);
        let half_open = Arc::clone(&half_open);
        thread::spawn(move || {
            let _ = pump(from, &to, way, cut, &shared, &half_open);
            // The other side of a client that is left half open hears nothing of the end.
            if !half_open.load(Ordering::SeqCst) {
                let _ = to.shutdown(Shutdown::Write);
            }
        });
    }
    shared.state().links.push(Link { client, server, half_open });
    Ok(())
}

fn pump(
    mut from: TcpStream,
    mut to: &TcpStream,
    way: Way,
    cut: Cut,
    shared: &Shared,
    half_open: &AtomicBool,
) -> io::Result<()> {
    loop {
        let piece = match cut {
            Cut::Messages => read_message(&mut from)?,
            Cut::Bytes => read_piece(&mut from)?,
        };
        shared.hold_back(piece.len());
        if half_open.load(Ordering::SeqCst) {
            continue;
        }
        for message in shared.tampered(way, piece) {
            if let Err(error) = to.write_all(&message)
                && !half_open.load(Ordering::SeqCst)
            {
                return Err(error);
            }
        }
    }
}

/// Reads the next message with its length prefix.
fn read_message(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 4];
    from.read_exact(&mut prefix)?;
    // The first bit of an NFS record's mark says whether it is the last fragment.
    let len = u32::from_be_bytes(prefix) & 0x7FFF_FFFF;
    let mut message = vec![0; 4 + len as usize];
    message[..4].copy_from_slice(&prefix);
    from.read_exact(&mut message[4..])?;
    Ok(message)
}

fn read_piece(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE];
    let len = from.read(&mut piece)?;
    if len == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    piece.truncate(len);
    Ok(piece)
}
