//! A bindery server without I/O: packets of clients go in, packets to them come out.
//!
//! It serves [`volume::Volume`]s in the name space of DOS over TCP, UDP and IPX. A request that comes twice is answered
//! twice and executed once; everything that is not served is answered, too.

mod account;
pub mod connection;
mod execute;
mod files;
mod memory;
pub mod names;
mod paths;
#[cfg(test)]
mod tests;
mod trees;
pub mod volume;
mod volumes;

use std::collections::BTreeMap;

use connection::Connection;
use execute::{Context, execute};
use volume::{Volume, VolumeResult};

pub use memory::MemoryVolume;

use crate::security::level::Level;
use crate::security::password::{self, PasswordHash};
use crate::security::signature::Transport;
use crate::wire::packet::{
    CLIENT_HEADER_LEN, ClientHeader, ClientKind, ConnectionStatus, NO_CONNECTION, ServerHeader,
};
use crate::wire::server_info::DateAndTime;
use crate::wire::tcp::{TcpReply, TcpRequest};
use crate::wire::{Codec, Completion, Request};

/// What a server needs of the world around it.
pub trait World {
    /// A key for a login that no one can foresee.
    fn login_key(&mut self) -> [u8; 8];

    /// Date and time of day.
    fn date_and_time(&mut self) -> DateAndTime;
}

/// Someone who may log in.
#[derive(Debug, Clone)]
pub struct User {
    /// Name, in upper case, at most 47 bytes.
    pub name: Vec<u8>,
    /// Object id.
    pub id: u32,
    /// Hash of the password.
    pub hash: PasswordHash,
}

impl User {
    /// A user; name and password are put in upper case, as clients send them.
    pub fn new(name: &str, id: u32, password: &str) -> Self {
        let hash = password::hash(id, password.to_ascii_uppercase().as_bytes());
        Self { name: name.to_ascii_uppercase().into_bytes(), id, hash }
    }
}

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name, padded with NUL.
    pub name: [u8; 48],
    /// Version that clients see, major and minor: it makes them choose their functions.
    pub version: (u8, u8),
    /// Connections there can be.
    pub max_connections: u16,
    /// Who may log in.
    pub users: Vec<User>,
    /// When packets are signed.
    pub signatures: Level,
    /// True to let users log in with a password that travels as it is.
    pub clear_passwords: bool,
}

/// Where a packet comes from: a number that the carrier gives to each client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u64);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared<V> {
    options: Options,
    volumes: Vec<(Vec<u8>, V)>,
}

impl<V> Shared<V> {
    fn volume(&self, number: u8) -> VolumeResult<&V> {
        self.volumes.get(usize::from(number)).map(|(_, volume)| volume).ok_or(Completion::NoSuchVolume)
    }

    fn volume_mut(&mut self, number: u8) -> VolumeResult<&mut V> {
        self.volumes.get_mut(usize::from(number)).map(|(_, volume)| volume).ok_or(Completion::NoSuchVolume)
    }

    /// Index of a user.
    fn user(&self, name: &[u8]) -> Option<usize> {
        self.options.users.iter().position(|user| user.name.eq_ignore_ascii_case(name))
    }
}

/// A server: options, volumes by name, and its connections.
#[derive(Debug)]
pub struct Server<V, W> {
    shared: Shared<V>,
    world: W,
    connections: BTreeMap<u16, (Peer, Connection)>,
    peers: BTreeMap<Peer, u16>,
}

impl<V: Volume, W: World> Server<V, W> {
    /// A server without connections; the first volume has number 0. At most 255 volumes are served.
    pub fn new(options: Options, volumes: Vec<(Vec<u8>, V)>, world: W) -> Self {
        let mut volumes = volumes;
        volumes.truncate(255);
        let shared = Shared { options, volumes };
        Self { shared, world, connections: BTreeMap::new(), peers: BTreeMap::new() }
    }

    /// Connections there are.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Takes a whole message of a client and appends the answer; nothing is appended to what is no request, is signed
    /// wrongly, or is older than the last one. On TCP a message is what [`crate::wire::tcp::message_len`] says.
    pub fn receive(&mut self, peer: Peer, transport: Transport, message: &[u8], out: &mut Vec<u8>) {
        let number = self.peers.get(&peer).copied();
        let signed =
            number.and_then(|number| self.connections.get(&number)).is_some_and(|(_, c)| c.signer.is_some());
        let Some(packet) = Packet::new(transport, message, signed) else { return };
        match (packet.header.kind, number) {
            (ClientKind::Create, _) => self.create(peer, &packet, out),
            (_, Some(number)) if number == packet.header.connection => self.known(number, &packet, out),
            _ => {
                let header = ServerHeader {
                    status: ConnectionStatus::BAD_CONNECTION,
                    ..ServerHeader::reply(&packet.header, Completion::Success)
                };
                packet.answer(None, &encoded(header), out);
            }
        }
    }

    /// Forgets a client whose carrier is gone.
    pub fn disconnect(&mut self, peer: Peer) {
        if let Some(number) = self.peers.remove(&peer) {
            self.connections.remove(&number);
        }
    }

    /// A new connection; that of the same client from before is gone with its files. The duplicate memory is empty
    /// afterwards: libncp gives its first request the sequence number of the create.
    fn create(&mut self, peer: Peer, packet: &Packet<'_>, out: &mut Vec<u8>) {
        self.disconnect(peer);
        let free = (1..=self.shared.options.max_connections.min(NO_CONNECTION - 1))
            .find(|number| !self.connections.contains_key(number));
        let header = ServerHeader::reply(&packet.header, Completion::Success);
        let header = match free {
            Some(number) => {
                self.peers.insert(peer, number);
                self.connections.insert(number, (peer, Connection::new(number)));
                ServerHeader { connection: number, ..header }
            }
            None => ServerHeader {
                completion: Completion::NoConnectionSlot,
                status: ConnectionStatus::NO_CONNECTIONS,
                ..header
            },
        };
        packet.answer(None, &encoded(header), out);
    }

    /// A request or destroy of a connection that there is.
    fn known(&mut self, number: u16, packet: &Packet<'_>, out: &mut Vec<u8>) {
        let count = self.connections.len();
        let Some((peer, connection)) = self.connections.get_mut(&number) else { return };
        match &connection.last {
            Some((sequence, answer)) if *sequence == packet.header.sequence => {
                out.extend_from_slice(answer);
                return;
            }
            Some((sequence, _)) if sequence.wrapping_add(1) != packet.header.sequence => return,
            _ => {}
        }
        if let Some(signer) = &mut connection.signer {
            // A destroy may come unsigned; it takes nothing that the end of the carrier would not take.
            let mut next = signer.clone();
            let right = packet.signature == Some(next.request(packet.ncp, packet.wire_len));
            if !right && packet.header.kind == ClientKind::Request {
                return;
            }
            *signer = next;
        }
        let signer = connection.signer.clone();
        if packet.header.kind == ClientKind::Destroy {
            let peer = *peer;
            packet.answer(
                signer.as_ref(),
                &encoded(ServerHeader::reply(&packet.header, Completion::Success)),
                out,
            );
            return self.disconnect(peer);
        }
        let mut context = Context {
            world: &mut self.world,
            connections: count,
            transport: packet.transport,
            task: packet.header.task,
        };
        let reply = reply(&mut self.shared, connection, &mut context, packet);
        let start = out.len();
        // The reply to the login itself is not signed.
        packet.answer(signer.as_ref(), &reply, out);
        // TCP loses nothing, so that nothing comes twice and no copy need be kept.
        let kept = if packet.transport == Transport::Tcp { &[] } else { &out[start..] };
        connection.last = Some((packet.header.sequence, kept.to_vec()));
    }
}

/// Header and data of the reply to a request.
fn reply<V: Volume>(
    shared: &mut Shared<V>,
    connection: &mut Connection,
    context: &mut Context<'_>,
    packet: &Packet<'_>,
) -> Vec<u8> {
    let header = |completion| encoded(ServerHeader::reply(&packet.header, completion));
    let mut reply = header(Completion::Success);
    let start = reply.len();
    let done = match Request::decode(packet.body()) {
        Ok(request) => execute(shared, connection, context, &request, &mut reply),
        Err(_) => Err(Completion::Failure),
    };
    match done {
        Ok(()) => reply,
        Err(completion) => {
            reply.truncate(start);
            header(completion)
        }
    }
}

fn encoded(header: ServerHeader) -> Vec<u8> {
    let mut out = Vec::new();
    ServerHeader::put(&header, &mut out);
    out
}

/// A client packet out of its carrier.
struct Packet<'a> {
    transport: Transport,
    header: ClientHeader,
    ncp: &'a [u8],
    wire_len: usize,
    signature: Option<[u8; 8]>,
}

impl<'a> Packet<'a> {
    /// None for what is no packet of a client.
    fn new(transport: Transport, message: &'a [u8], signed: bool) -> Option<Self> {
        let (ncp, signature) = if transport == Transport::Tcp {
            let message = TcpRequest::decode(message, signed).ok()?;
            (message.packet, message.signature)
        } else {
            // A create or destroy, or a request sent again from before the login, may be too short for a signature.
            match message.split_last_chunk::<8>().filter(|(ncp, _)| signed && ncp.len() > CLIENT_HEADER_LEN) {
                Some((ncp, signature)) => (ncp, Some(*signature)),
                None => (message, None),
            }
        };
        let header = ClientHeader::decode(ncp).ok()?;
        Some(Self { transport, header, ncp, wire_len: message.len(), signature })
    }

    fn body(&self) -> &'a [u8] {
        self.ncp.get(CLIENT_HEADER_LEN..).unwrap_or_default()
    }

    /// Appends a reply in its carrier, signed if there is a signer.
    fn answer(&self, signer: Option<&crate::security::signature::Signer>, reply: &[u8], out: &mut Vec<u8>) {
        if self.transport == Transport::Tcp {
            let unsigned = TcpReply { signature: signer.map(|_| [0; 8]), packet: reply };
            let signature = signer.map(|signer| signer.reply(reply, unsigned.wire_len()));
            TcpReply { signature, ..unsigned }.put(out);
        } else {
            out.extend_from_slice(reply);
            out.extend(signer.into_iter().flat_map(|signer| signer.reply(reply, 0)));
        }
    }
}
