//! Calls that negotiate, describe the server, and log in (docs/protocols/ncp.md 2.2 to 2.4).

use super::connection::Connection;
use super::{Environment, Shared};
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::Signer;
use crate::wire::TransportKind;
use crate::wire::login::{ClearLogin, KeyedLogin, LoginKey, USER};
use crate::wire::negotiate::{AcceptedPacketSize, NegotiatedBuffer, PacketSize, Security};
use crate::wire::server_info::ServerInfo;
use crate::wire::{Codec, Completion};

/// The largest packet that can be negotiated: the data of a call, plus 8 bytes that clients add for a signature and
/// 64 bytes of headers on IPX.
pub const MAX_PACKET: u16 = 61_440 + 64 + 8;
/// Bytes of an IPX packet in addition to its data: headers and a signature.
const OVERHEAD: u16 = 64 + 8;
/// The smallest number of data bytes per call that can be negotiated.
const MIN_BUFFER: u16 = 512;
/// Connections beyond the largest number used so far that the server information shows as possible. Clients request the
/// user of each possible number, so that the limit of the server itself would make them send thousands of requests.
const FREE_CONNECTIONS: u16 = 16;

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
    environment: &dyn Environment,
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
        if !requested.has(Security::SIGNATURE) {
            environment.signatures_kept(connection.source);
        }
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
pub fn server_info<V>(shared: &Shared<V>, (used, peak): (usize, u16), out: &mut Vec<u8>) {
    let (major, minor) = shared.options.version;
    let mut info = ServerInfo::new(shared.options.name, major, minor);
    // Numbers are assigned from the smallest free one on, so that the peak is also the largest number.
    info.max_connections = peak.saturating_add(FREE_CONNECTIONS).min(shared.options.max_connections);
    info.connections = u16::try_from(used).unwrap_or(u16::MAX);
    info.peak_connections = peak;
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
        // Once per delay, so that a client that does not stop fills no log.
        if shared.throttle.note_rejection(source, name, now) {
            environment.login_rejected(source, name, Completion::IntruderLockout);
        }
        return Err(Completion::IntruderLockout);
    }
    let done = login(connection);
    match done {
        Ok(()) => {
            shared.throttle.note_success(source, name);
            connection.login_time = environment.date_and_time();
            if let Some(user) = connection.user {
                shared.bindery.note_login(user, connection.login_time);
            }
            environment.logged_in(source, name);
        }
        Err(Completion::Failure) => {
            shared.throttle.note_failure(source, name, now);
            environment.login_failed(source, name);
        }
        // A policy rejected the login, not the password.
        Err(completion) => environment.login_rejected(source, name, completion),
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
