//! Calls that negotiate, describe the server, and log in (docs/protocols/ncp.md 2.2 to 2.4).

use super::connection::Connection;
use super::{Environment, Shared};
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::Signer;
use crate::wire::TransportKind;
use crate::wire::login::{
    AccessLevel, ClearLogin, FILE_SERVER, GetObjectId, KeyedLogin, LoginKey, ObjectId, USER,
};
use crate::wire::negotiate::{AcceptedPacketSize, NegotiatedBuffer, PacketSize, Security};
use crate::wire::server_info::{ConnectionUser, ServerInfo};
use crate::wire::text::padded;
use crate::wire::{Codec, Completion};

/// The largest packet that can be negotiated: the data of a call, plus 8 bytes that clients add for a signature and
/// 64 bytes of headers on IPX.
pub const MAX_PACKET: u16 = 61_440 + 64 + 8;
/// Bytes of an IPX packet in addition to its data: headers and a signature.
const OVERHEAD: u16 = 64 + 8;
/// The smallest number of data bytes per call that can be negotiated.
const MIN_BUFFER: u16 = 512;
/// Bindery access level of a logged-in user: read and write.
const USER_LEVEL: u8 = 0x11;

/// 0x21 (docs/protocols/ncp.md 2.2).
pub fn negotiate<V>(shared: &Shared<V>, connection: &mut Connection, proposed: u16, out: &mut Vec<u8>) {
    let largest = shared.options.max_packet;
    let accepted = proposed.clamp(MIN_BUFFER, largest);
    connection.buffer = accepted.min(largest - OVERHEAD);
    NegotiatedBuffer::put(&NegotiatedBuffer { accepted }, out);
}

/// 0x61 (docs/protocols/ncp.md 2.2): enables signatures and checksums if the client requests them and the level of
/// the server is not 0. The reply also has the bits that this server prefers, so that a client at level 1 can request
/// them.
pub fn packet_size<V>(
    shared: &Shared<V>,
    connection: &mut Connection,
    (size, transport): (PacketSize, TransportKind),
    out: &mut Vec<u8>,
) {
    let options = &shared.options;
    let accepted = size.proposed.clamp(MIN_BUFFER, options.max_packet);
    connection.buffer = data_of(accepted, transport);
    let checksums = if transport.is_ipx() { options.checksums } else { Level::Never };
    let levels = [(options.signatures, Security::SIGNATURE), (checksums, Security::CHECKSUM)];
    let at_least = |least: Level| {
        let bits = levels.iter().filter(|(level, _)| *level >= least);
        bits.fold(Security(0), |all, (_, bit)| all.with(*bit))
    };
    let requested = Security(size.security);
    connection.security = requested.both(at_least(Level::IfRequested));
    // The chain of signatures begins with the login and lasts until the next one: a client cannot leave it by
    // negotiating again, and the reply must not claim that it did.
    if connection.signer.is_some() {
        connection.security = connection.security.with(Security::SIGNATURE);
    }
    let probes = transport.is_datagram() && !requested.has(Security::NO_LARGE_PACKETS);
    let lip = requested.both(Security::NO_LARGE_PACKETS);
    let security = connection.security.with(at_least(Level::IfPossible)).with(lip).0;
    let echo_socket = if probes { options.echo_socket } else { 0 };
    AcceptedPacketSize::put(&AcceptedPacketSize { accepted, echo_socket, security }, out);
}

/// Data bytes of a reply in a packet of the negotiated size, which includes headers on IPX (docs/protocols/ncp.md
/// 2.2).
const fn data_of(packet: u16, transport: TransportKind) -> u16 {
    match transport {
        TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => packet - OVERHEAD,
        TransportKind::Tcp | TransportKind::Udp => packet,
    }
}

/// 0x17/0x11 (docs/protocols/ncp.md 2.3).
pub fn server_info<V>(shared: &Shared<V>, connections: usize, out: &mut Vec<u8>) {
    let (major, minor) = shared.options.version;
    let mut info = ServerInfo::new(shared.options.name, major, minor);
    info.max_connections = shared.options.max_connections;
    info.connections = u16::try_from(connections).unwrap_or(u16::MAX);
    info.max_volumes = shared.volumes.len() as u16;
    // Announces the calls with 64-bit offsets (docs/protocols/ncp.md 2.3, 3.5).
    info.large_files = 1;
    ServerInfo::put(&info, out);
}

/// 0x17/0x17 (docs/protocols/ncp.md 2.4).
pub fn login_key(connection: &mut Connection, environment: &dyn Environment, out: &mut Vec<u8>) {
    let key = environment.login_key();
    // A key serves one login: `keyed_login` takes it, so that a recorded response cannot be replayed.
    connection.key = Some(key);
    LoginKey::put(&LoginKey { key }, out);
}

/// 0x17/0x35 (docs/protocols/ncp.md 2.4): the bindery has the users and the server itself.
pub fn object_id<V>(
    shared: &Shared<V>,
    object: &GetObjectId<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Completion> {
    let (id, name) = match object.kind {
        USER => {
            let user = shared.user(&object.name).ok_or(Completion::NoSuchObject)?;
            let user = &shared.options.users[user];
            (user.id, padded(&user.name).map_err(|_| Completion::NoSuchObject)?)
        }
        FILE_SERVER => (0, shared.options.name),
        _ => return Err(Completion::NoSuchObject),
    };
    ObjectId::put(&ObjectId { id, kind: object.kind, name }, out);
    Ok(())
}

/// A login, unless earlier failures of this address and name delay it. It is then rejected without a look at the
/// password, so that the answer says nothing about it.
pub fn throttled<V>(
    shared: &Shared<V>,
    connection: &mut Connection,
    environment: &dyn Environment,
    name: &[u8],
    login: impl FnOnce(&mut Connection) -> Result<(), Completion>,
) -> Result<(), Completion> {
    let source = connection.source;
    let now = environment.now();
    if shared.throttle.is_delayed(source, name, now) {
        // The key of this attempt is used up, as that of every other attempt.
        connection.key = None;
        return Err(Completion::IntruderLockout);
    }
    let done = login(connection);
    match done {
        Ok(()) => shared.throttle.note_success(source, name),
        Err(Completion::Failure) => {
            shared.throttle.note_failure(source, name, now);
            environment.login_failed(source, name);
        }
        // A policy rejected the login, not the password.
        Err(_) => {}
    }
    done
}

/// 0x17/0x18 (docs/protocols/ncp.md 2.4). A login key is valid once.
pub fn keyed_login<V>(
    shared: &Shared<V>,
    connection: &mut Connection,
    login: &KeyedLogin<'_>,
    transport: TransportKind,
) -> Result<(), Completion> {
    let key = connection.key.take().ok_or(Completion::Failure)?;
    let user = shared.user(&login.name).filter(|_| login.kind == USER).ok_or(Completion::Failure)?;
    let hash = &shared.options.users[user].hash;
    if password::response(&key, hash) != login.response {
        return Err(Completion::Failure);
    }
    let checks = connection.security.has(Security::CHECKSUM);
    if !checks && transport.is_ipx() && shared.options.checksums == Level::Always {
        return Err(Completion::AddressRestriction);
    }
    let signs = connection.security.has(Security::SIGNATURE);
    if !signs && shared.options.signatures == Level::Always {
        return Err(Completion::SignatureRequired);
    }
    connection.logout();
    connection.user = Some(user);
    connection.checks = checks;
    // Bursts cannot be signed.
    connection.burst = connection.burst.take().filter(|_| !signs);
    connection.signer = signs.then(|| Signer::new(hash, &key, transport));
    Ok(())
}

/// 0x17/0x14 (docs/protocols/ncp.md 2.4). Without a login key there is nothing to derive a signature key from, so
/// this login is not possible with signatures.
pub fn clear_login<V>(
    shared: &Shared<V>,
    connection: &mut Connection,
    login: &ClearLogin<'_>,
) -> Result<(), Completion> {
    let signs = connection.security.has(Security::SIGNATURE) || shared.options.signatures == Level::Always;
    // Signatures need the key of an encrypted login, so a login in clear text cannot be combined with
    // them.
    if !shared.options.clear_passwords || signs {
        return Err(Completion::EncryptedLoginRequired);
    }
    let user = shared.user(&login.name).filter(|_| login.kind == USER).ok_or(Completion::Failure)?;
    let known = &shared.options.users[user];
    if password::hash(known.id, &login.password.to_ascii_uppercase()) != known.hash {
        return Err(Completion::Failure);
    }
    connection.logout();
    connection.user = Some(user);
    Ok(())
}

/// 0x17/0x46 (docs/protocols/ncp.md 2.4).
pub fn access_level<V>(shared: &Shared<V>, connection: &Connection, out: &mut Vec<u8>) {
    let id = connection.user.map_or(u32::MAX, |user| shared.options.users[user].id);
    let level = if connection.user.is_some() { USER_LEVEL } else { 0 };
    AccessLevel::put(&AccessLevel { level, id }, out);
}

/// 0x17/0x1C (docs/protocols/ncp.md 2.4), for the requesting connection only.
pub fn connection_user<V>(
    shared: &Shared<V>,
    connection: &Connection,
    requested: u32,
    out: &mut Vec<u8>,
) -> Result<(), Completion> {
    if requested != u32::from(connection.number) {
        return Err(Completion::BadConnectionNumber);
    }
    let mut user = ConnectionUser { id: 0, kind: 0, name: [0; 48], login: [0; 7], reserved: 0 };
    if let Some(known) = connection.user.map(|user| &shared.options.users[user]) {
        user.id = known.id;
        user.kind = USER;
        user.name = padded(&known.name).map_err(|_| Completion::Failure)?;
    }
    ConnectionUser::put(&user, out);
    Ok(())
}
