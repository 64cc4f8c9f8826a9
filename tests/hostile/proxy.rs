//! A proxy between the program and a real server. It replaces replies, and thereby acts as a hostile server.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::smb_cipher::ObservedSession;

/// Pause between two bytes of [`Answer::Drip`].
const DRIP: Duration = Duration::from_millis(400);
/// Pause between two datagrams of a flood, which has no flow control.
const DATAGRAM_PAUSE: Duration = Duration::from_micros(200);
/// How often a waiting thread looks for the end.
const POLL: Duration = Duration::from_millis(50);
/// Longest datagram.
const DATAGRAM: usize = 64 << 10;
/// Bytes that a flood sends at a time.
const FLOOD_BYTES: usize = 64 << 10;

/// How messages follow each other in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A big-endian length of 31 bits, as in SMB and in fragments of RPC records.
    Prefix,
    /// As [`Self::Prefix`], for encrypted SMB: replies are replaced in plain text and encrypted again. Those that are not
    /// encrypted pass unchanged.
    OpenedSmb,
    /// The marker and the length of NCP over TCP.
    Ncp,
    /// Datagrams.
    Datagrams,
}

/// A reply, and the latest request of the connection.
pub struct Exchange<'a> {
    /// The request, with its frame.
    pub request: &'a [u8],
    /// The reply of the real server, with its frame.
    pub reply: Vec<u8>,
    /// Bytes that a mode keeps between the replies of one run.
    pub memory: &'a mut Vec<u8>,
}

/// What the client receives instead of a reply.
pub enum Answer {
    /// These bytes.
    Send(Vec<u8>),
    /// These bytes, and the same once more; the same datagram twice.
    Twice(Vec<u8>),
    /// These bytes, and the end of the connection.
    Close(Vec<u8>),
    /// These bytes and nothing else, while the connection stays open.
    Silence(Vec<u8>),
    /// These bytes one by one, with pauses; then they begin again.
    Drip(Vec<u8>),
    /// These bytes again and again.
    Flood(Vec<u8>),
}

impl Answer {
    /// The same with other bytes.
    fn map(self, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Self {
        match self {
            Self::Send(bytes) => Self::Send(change(bytes)),
            Self::Twice(bytes) => Self::Twice(change(bytes)),
            Self::Close(bytes) => Self::Close(change(bytes)),
            Self::Silence(bytes) => Self::Silence(change(bytes)),
            Self::Drip(bytes) => Self::Drip(change(bytes)),
            Self::Flood(bytes) => Self::Flood(change(bytes)),
        }
    }
}

/// Replaces a reply.
pub type Distort = fn(Exchange<'_>) -> Answer;
/// What a new connection receives before the client has sent anything; none if nothing.
pub type Greet = fn() -> Option<Answer>;

struct Shared {
    framing: Framing,
    server: SocketAddr,
    distort: Distort,
    greet: Greet,
    ended: AtomicBool,
    memory: Mutex<Vec<u8>>,
    /// Replies that the mode has replaced.
    answers: AtomicU64,
    streams: Mutex<Vec<TcpStream>>,
}

/// A running proxy. Dropping it ends its connections.
pub struct HostileProxy {
    shared: Arc<Shared>,
    address: SocketAddr,
}

impl HostileProxy {
    /// Opens a port of an address that leads to a server.
    pub fn start(
        at: (Ipv4Addr, u16),
        server_port: u16,
        framing: Framing,
        distort: Distort,
        greet: Greet,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            framing,
            server: (Ipv4Addr::LOCALHOST, server_port).into(),
            distort,
            greet,
            ended: AtomicBool::new(false),
            memory: Mutex::default(),
            answers: AtomicU64::new(0),
            streams: Mutex::default(),
        });
        let theirs = Arc::clone(&shared);
        let address = if framing == Framing::Datagrams {
            let socket = UdpSocket::bind(at)?;
            let address = socket.local_addr()?;
            thread::spawn(move || relay_datagrams(&socket, &theirs));
            address
        } else {
            let listener = TcpListener::bind(at)?;
            let address = listener.local_addr()?;
            thread::spawn(move || accept(&listener, &theirs));
            address
        };
        Ok(Self { shared, address })
    }

    /// Number of replies so far.
    pub fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::Relaxed)
    }

    /// The port for the client.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for HostileProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        for stream in lock(&self.shared.streams).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn answer(&self, request: &[u8], reply: Vec<u8>) -> Answer {
        self.answers.fetch_add(1, Ordering::Relaxed);
        (self.distort)(Exchange { request, reply, memory: &mut lock(&self.memory) })
    }

    /// Answers in the encryption of the session.
    fn answer_opened(&self, session: &mut ObservedSession, request: &[u8], reply: Vec<u8>) -> Answer {
        session.observe(request, &reply);
        let Some(plain) = session.open_reply(&reply) else { return Answer::Send(reply) };
        let answer = self.answer(&session.open_request(request), plain);
        answer.map(|bytes| session.seal_reply(bytes, &reply))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((client, _)) = listener.accept() {
        if shared.has_ended() {
            return;
        }
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            let _ = serve(client, &shared);
        });
    }
}

/// Passes the messages of one connection in both directions until one side ends.
fn serve(mut client: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    lock(&shared.streams).push(client.try_clone()?);
    let closed = Arc::new(AtomicBool::new(false));
    if let Some(answer) = (shared.greet)() {
        return deliver(&mut client, answer, shared, &closed).map(drop);
    }
    let mut server = TcpStream::connect(shared.server)?;
    server.set_nodelay(true)?;
    lock(&shared.streams).push(server.try_clone()?);
    let request = Arc::new(Mutex::new(Vec::new()));
    let latest = Arc::clone(&request);
    let from_client = client.try_clone()?;
    let to_server = server.try_clone()?;
    let framing = shared.framing;
    let ended = Arc::clone(&closed);
    thread::spawn(move || {
        let _ = forward(from_client, to_server, framing, &latest);
        ended.store(true, Ordering::SeqCst);
    });
    let mut session = ObservedSession::default();
    while let Ok(reply) = read_message(&mut server, framing) {
        let request = lock(&request).clone();
        let answer = if framing == Framing::OpenedSmb {
            shared.answer_opened(&mut session, &request, reply)
        } else {
            shared.answer(&request, reply)
        };
        if !deliver(&mut client, answer, shared, &closed)? {
            break;
        }
    }
    client.shutdown(Shutdown::Both)?;
    server.shutdown(Shutdown::Both)
}

fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    framing: Framing,
    latest: &Mutex<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let message = read_message(&mut client, framing)?;
        lock(latest).clone_from(&message);
        server.write_all(&message)?;
    }
}

/// Sends an answer; true if the connection continues.
fn deliver(client: &mut TcpStream, answer: Answer, shared: &Shared, closed: &AtomicBool) -> io::Result<bool> {
    let is_open = || !shared.has_ended() && !closed.load(Ordering::SeqCst);
    match answer {
        Answer::Send(bytes) => client.write_all(&bytes).map(|()| true),
        Answer::Twice(bytes) => client.write_all(&bytes.repeat(2)).map(|()| true),
        Answer::Close(bytes) => client.write_all(&bytes).map(|()| false),
        Answer::Silence(bytes) => {
            client.write_all(&bytes)?;
            while is_open() {
                thread::sleep(POLL);
            }
            Ok(false)
        }
        Answer::Drip(bytes) => {
            for byte in bytes.iter().cycle().take_while(|_| is_open()) {
                client.write_all(&[*byte])?;
                thread::sleep(DRIP);
            }
            Ok(false)
        }
        Answer::Flood(bytes) => {
            let many = bytes.repeat(FLOOD_BYTES.div_ceil(bytes.len().max(1)));
            while is_open() {
                client.write_all(&many)?;
            }
            Ok(false)
        }
    }
}

fn read_message(from: &mut TcpStream, framing: Framing) -> io::Result<Vec<u8>> {
    let head = if framing == Framing::Ncp { 8 } else { 4 };
    let mut message = vec![0; head];
    from.read_exact(&mut message)?;
    let word =
        |at: usize| u32::from_be_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]]);
    let len = match framing {
        Framing::Ncp => (word(4) & 0x0FFF_FFFF) as usize,
        _ => head + (word(0) & 0x7FFF_FFFF) as usize,
    };
    // A client that looks for other protocols sends a length of up to 2 GiB, and not as many bytes.
    let rest = (len.max(head) - head) as u64;
    if from.take(rest).read_to_end(&mut message)? as u64 == rest {
        Ok(message)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Passes datagrams in both directions.
fn relay_datagrams(socket: &UdpSocket, shared: &Arc<Shared>) -> Option<()> {
    socket.set_read_timeout(Some(POLL)).ok()?;
    // A program has several sockets at a time; each one needs its own replies.
    let mut clients: HashMap<SocketAddr, DatagramClient> = HashMap::new();
    let mut buffer = vec![0; DATAGRAM];
    while !shared.has_ended() {
        let Ok((len, address)) = socket.recv_from(&mut buffer) else { continue };
        let client = match clients.entry(address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(DatagramClient::start(socket, address, shared)?),
        };
        *lock(&client.latest) = buffer[..len].to_vec();
        let _ = client.server.send(&buffer[..len]);
    }
    Some(())
}

/// The way from one socket of the program to the server and back.
struct DatagramClient {
    server: UdpSocket,
    /// The latest request.
    latest: Arc<Mutex<Vec<u8>>>,
}

impl DatagramClient {
    fn start(socket: &UdpSocket, address: SocketAddr, shared: &Arc<Shared>) -> Option<Self> {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        server.connect(shared.server).ok()?;
        server.set_read_timeout(Some(POLL)).ok()?;
        let latest: Arc<Mutex<Vec<u8>>> = Arc::default();
        let to_client = socket.try_clone().ok()?;
        let from_server = server.try_clone().ok()?;
        let requests = Arc::clone(&latest);
        let theirs = Arc::clone(shared);
        thread::spawn(move || {
            let mut buffer = vec![0; DATAGRAM];
            while !theirs.has_ended() {
                let Ok(len) = from_server.recv(&mut buffer) else { continue };
                let request = lock(&requests).clone();
                let answer = theirs.answer(&request, buffer[..len].to_vec());
                send_datagrams(&to_client, address, answer, &theirs);
            }
        });
        Some(Self { server, latest })
    }
}

fn send_datagrams(socket: &UdpSocket, client: SocketAddr, answer: Answer, shared: &Shared) {
    match answer {
        Answer::Send(bytes) => drop(socket.send_to(&bytes, client)),
        Answer::Twice(bytes) => {
            for _ in 0..2 {
                let _ = socket.send_to(&bytes, client);
            }
        }
        Answer::Close(_) | Answer::Silence(_) => {}
        Answer::Drip(bytes) => {
            for byte in bytes {
                let _ = socket.send_to(&[byte], client);
            }
        }
        Answer::Flood(bytes) => {
            while !shared.has_ended() {
                let _ = socket.send_to(&bytes, client);
                thread::sleep(DATAGRAM_PAUSE);
            }
        }
    }
}
