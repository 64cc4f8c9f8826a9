//! The server: it receives the packets of clients and appends its replies.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};

use super::bindery::Bindery;
use super::connection::Connection;
use super::connection_table::ConnectionTable;
use super::execute::Execution;
use super::lock_tables::LockTables;
use super::login_throttle::LoginThrottle;
use super::mutex::lock;
use super::options::{Environment, Options};
use super::packet::Packet;
use super::peer::Peer;
use super::shared::Shared;
use super::volume::Volume;
use crate::envelope;
use crate::wire::packet::{ClientHeader, ClientKind, ConnectionStatus, SERVER_HEADER_LEN, ServerHeader};
use crate::wire::watchdog::IpWatchdog;
use crate::wire::{Codec, Completion, Request, TransportKind};

/// Offset of the completion code in a reply.
const COMPLETION: usize = 6;

/// An NCP server without I/O and threads.
///
/// It owns its options, the served volumes, and the table of connections with their login state, handles and locks. A
/// front end passes each received message to [`Self::receive`] or [`Self::receive_datagram`] and sends what they
/// append; both may be called from many threads.
///
/// A connection begins with a create request and ends with a destroy request, with [`Self::disconnect`] when its
/// transport is gone, or when [`Self::idle_clients`] finds its client silent for too long. Each connection has a lock
/// of its own, held while a request executes, so a slow volume delays only the client that waits for it; a datagram
/// that arrives meanwhile is answered with "busy". The lock of the table is held only for look-ups. Locks and
/// semaphores never block a thread: a waiting request is completed by [`Self::resume`].
///
/// Clock, randomness and wake-ups come from the [`Environment`], so that simulations are deterministic.
#[derive(Debug)]
pub struct Server<V, W> {
    pub(super) shared: Shared<V>,
    pub(super) environment: Arc<W>,
    pub(super) connections: Mutex<ConnectionTable>,
}

impl<V: Volume, W: Environment> Server<V, W> {
    /// A server without connections. The first volume has number 0; at most 255 volumes are served.
    pub fn new(options: Options, volumes: Vec<(Vec<u8>, V)>, environment: W) -> Self {
        let mut volumes = volumes;
        volumes.truncate(255);
        let environment = Arc::new(environment);
        let notified: Arc<dyn Environment> = Arc::<W>::clone(&environment);
        let locks = LockTables::new(notified);
        let open_files = Arc::clone(&locks.open_files);
        let waiting = Arc::clone(&locks.waiting);
        let connections = Mutex::new(ConnectionTable::new(options.max_connections, locks));
        let throttle = LoginThrottle::default();
        let bindery = Bindery::new(&options);
        let shared = Shared { options, volumes, open_files, waiting, throttle, bindery };
        Self { shared, environment, connections }
    }

    /// The environment of the server.
    pub fn environment(&self) -> &W {
        &self.environment
    }

    /// Number of requests that wait for a lock or a semaphore.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.count()
    }

    /// True if a request of this client waits for a lock, so that its reply is still to come.
    pub fn is_waiting(&self, peer: Peer) -> bool {
        // The lock of the table is released before that of the connection is taken.
        let known = lock(&self.connections).get(peer);
        known.is_some_and(|known| lock(&known.connection).wait.is_some())
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        lock(&self.connections).len()
    }

    /// Processes a whole message of a client and appends the reply. Nothing is appended if the message is not a
    /// request, has a wrong signature, or is older than the last request. On TCP, [`crate::wire::tcp::message_len`]
    /// delimits messages, and a client whose message has no reply, and no lock to wait for ([`Self::is_waiting`]), would
    /// wait for ever: the caller closes its stream. A datagram that arrives while its connection executes another request is answered with
    /// "busy".
    pub fn receive(&self, peer: Peer, transport: TransportKind, message: &[u8], out: &mut Vec<u8>) {
        // The lock of the table is released with this statement. Holding it during a request would make one
        // slow volume block every client.
        let known = lock(&self.connections).get(peer);
        let Some(known) = known else { return self.receive_unknown(peer, transport, message, out) };
        known.note_activity(self.environment.now());
        // The answer to a watchdog query has done its work by arriving.
        if transport.is_datagram() && IpWatchdog::decode(message).is_some() {
            return;
        }
        let mut connection = match known.connection.try_lock() {
            Ok(connection) => connection,
            Err(TryLockError::Poisoned(left)) => left.into_inner(),
            Err(TryLockError::WouldBlock) if transport.is_datagram() => {
                // The header comes first whether the packet is signed or not.
                if let Ok(header) = ClientHeader::decode(message) {
                    ServerHeader::put(&ServerHeader::busy(&header), out);
                }
                return;
            }
            // On TCP a client cannot send a second request before the reply to the first, except after an error;
            // waiting is then harmless.
            Err(TryLockError::WouldBlock) => lock(&known.connection),
        };
        // Parsed only now: whether a message carries a signature is known to the connection alone.
        let Some(packet) = Packet::new(transport, message, connection.signer.is_some()) else { return };
        match packet.header.kind {
            ClientKind::Create => {
                drop(connection);
                // The guard is dropped before, because creating a connection removes the old one of this client.
                self.create(peer, &packet, out);
            }
            _ if packet.header.connection != connection.number => reply_no_connection(&packet, out),
            kind => {
                self.receive_known(&mut connection, &packet, out);
                known.note_state(&connection);
                if kind == ClientKind::Destroy && connection.ended {
                    drop(connection);
                    self.disconnect(peer);
                }
            }
        }
    }

    /// True if the client has logged in.
    pub fn is_logged_in(&self, peer: Peer) -> bool {
        lock(&self.connections).get(peer).is_some_and(|known| known.login().is_some())
    }

    /// Removes the connection of a client whose transport is gone.
    pub fn disconnect(&self, peer: Peer) {
        lock(&self.connections).remove(peer);
    }

    /// Idle clients on datagrams that need a watchdog query, with their connection numbers. Clients that have not
    /// answered are removed. Call it every few seconds.
    pub fn idle_clients(&self) -> Vec<(Peer, u16)> {
        let now = self.environment.now();
        let watchdog = self.shared.options.watchdog;
        let (queried, gone) = lock(&self.connections).idle_clients(now, watchdog);
        for peer in gone {
            self.disconnect(peer);
        }
        queried
    }

    /// Notes that a client is alive, for example after its answer to a watchdog query.
    pub fn note_activity(&self, peer: Peer) {
        if let Some(known) = lock(&self.connections).get(peer) {
            known.note_activity(self.environment.now());
        }
    }

    /// True when packets of this client need an IPX checksum; the front end discards those without.
    pub fn requires_checksums(&self, peer: Peer) -> bool {
        lock(&self.connections).get(peer).is_some_and(|known| known.checks.load(Ordering::Relaxed))
    }

    fn receive_unknown(&self, peer: Peer, transport: TransportKind, message: &[u8], out: &mut Vec<u8>) {
        let Some(packet) = Packet::new(transport, message, false) else { return };
        if packet.header.kind == ClientKind::Create {
            self.create(peer, &packet, out);
        } else {
            reply_no_connection(&packet, out);
        }
    }

    /// Creates a connection and removes the previous one of the same client with its files. The duplicate memory of
    /// the new connection is empty, because libncp repeats the sequence number of the create in its first request
    /// (docs/protocols/ncp.md 1.4).
    fn create(&self, peer: Peer, packet: &Packet<'_>, out: &mut Vec<u8>) {
        let number = lock(&self.connections).create(peer, packet.transport, self.environment.now());
        if number.is_none() {
            self.environment.connection_refused();
        }
        let header = ServerHeader::reply(&packet.header, Completion::Success);
        let header = match number {
            Some(number) => ServerHeader { connection: number, ..header },
            None => ServerHeader {
                completion: Completion::NoConnectionSlot,
                status: ConnectionStatus::NO_CONNECTIONS,
                ..header
            },
        };
        envelope::put_reply(packet.transport, None, out, |out| ServerHeader::put(&header, out));
    }

    /// Processes a request or destroy of an existing connection.
    fn receive_known(&self, connection: &mut Connection, packet: &Packet<'_>, out: &mut Vec<u8>) {
        match connection.last {
            Some(last) if last == packet.header.sequence => {
                // A retransmission of a request that waits for a lock: there is no reply to repeat yet.
                if connection.wait.is_some() && packet.transport.is_datagram() {
                    return ServerHeader::put(&ServerHeader::busy(&packet.header), out);
                }
                return out.extend_from_slice(&connection.last_answer);
            }
            // An older duplicate that the network delayed. Executing it would undo what came after it.
            Some(last) if last.wrapping_add(1) != packet.header.sequence => return,
            _ => {}
        }
        if let Some(signer) = &mut connection.signer {
            // A destroy may be unsigned: it does no more than closing the transport would.
            // The chain advances only with a valid request, so that a forged packet cannot put the two sides out
            // of step.
            let mut next = signer.clone();
            let right = packet.signature == Some(next.request(packet.ncp, packet.wire_len));
            if !right && packet.header.kind == ClientKind::Request {
                return;
            }
            *signer = next;
        }
        // A new request shows that the client no longer waits for its lock; a client has at most one
        // outstanding request (docs/protocols/ncp.md 1.4).
        Self::cancel_wait(connection, out);
        let start = out.len();
        // The reply to the login itself is not signed.
        let signer = connection.signer.clone();
        envelope::put_reply(packet.transport, signer.as_ref(), out, |out| {
            self.reply(connection, packet, out);
        });
        connection.last = Some(packet.header.sequence);
        // The request waits for a lock. Its reply follows from `resume`, so the one that was built is taken
        // back.
        if Self::defer_reply(connection, packet) {
            out.truncate(start);
        }
        Self::store_reply(connection, packet.transport, &out[start..]);
    }

    /// Stores a reply for retransmission. TCP needs no copy, because it loses and repeats nothing.
    pub(super) fn store_reply(connection: &mut Connection, transport: TransportKind, answer: &[u8]) {
        if transport.is_datagram() {
            // A long reply, which the next one replaces, must not keep its memory.
            connection.last_answer = Vec::new();
            // Without memory a repeated request has no reply, and the client gives up in the end.
            if connection.charge(answer.len()) {
                connection.last_answer = answer.to_vec();
            }
        }
    }

    /// Appends header and data of the reply to a request or destroy.
    fn reply(&self, connection: &mut Connection, packet: &Packet<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        ServerHeader::put(&ServerHeader::reply(&packet.header, Completion::Success), out);
        if packet.header.kind == ClientKind::Destroy {
            connection.logout();
            connection.ended = true;
            return;
        }
        let done = match Request::decode(packet.body()) {
            Ok(request) => Execution {
                shared: &self.shared,
                environment: &*self.environment,
                connections: &self.connections,
                connection,
                transport: packet.transport,
                task: packet.header.task,
                out,
            }
            .execute(&request),
            // A malformed request is answered and not dropped: silence would make the client retransmit it until
            // its deadline.
            Err(_) => Err(Completion::Failure),
        };
        if let Err(completion) = done {
            // A refused reply carries no data, and clients parse none (docs/protocols/ncp.md 1.3).
            out.truncate(start + SERVER_HEADER_LEN);
            out[start + COMPLETION] = completion.code();
        }
    }
}

/// Answers a client that has no connection.
fn reply_no_connection(packet: &Packet<'_>, out: &mut Vec<u8>) {
    let header = ServerHeader::reply(&packet.header, Completion::Success);
    let header = ServerHeader { status: ConnectionStatus::BAD_CONNECTION, ..header };
    envelope::put_reply(packet.transport, None, out, |out| ServerHeader::put(&header, out));
}
