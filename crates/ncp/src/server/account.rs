//! Calls that negotiate, describe the server, and log in (docs/protocols/ncp.md 2.2 to 2.4).

use super::execute::Execution;
use super::mutex::lock;
use super::shared::Shared;
use super::volume::{Volume, VolumeResult};
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::Signer;
use crate::wire::TransportKind;
use crate::wire::login::{ClearLogin, KeyedLogin, LoginKey, USER};
use crate::wire::message::MessageText;
use crate::wire::negotiate::{AcceptedPacketSize, NegotiatedBuffer, PacketSize, Security};
use crate::wire::server_info::ServerInfo;
use crate::wire::{Completion, ConnectionCall, Pstr};

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

/// Data bytes of a reply in a packet of the negotiated size, which includes headers on IPX (docs/protocols/ncp.md
/// 2.2).
const fn data_of(packet: u16, transport: TransportKind) -> u16 {
    match transport {
        TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => packet - OVERHEAD,
        TransportKind::Tcp | TransportKind::Udp => packet,
    }
}

impl<V: Volume> Execution<'_, V> {
    /// Calls that every client may make.
    pub fn connection_call(&mut self, call: &ConnectionCall<'_>) -> VolumeResult<()> {
        match call {
            ConnectionCall::NegotiateBuffer(call) => self.negotiate(call.proposed),
            ConnectionCall::PacketSize(call) => self.packet_size(*call),
            ConnectionCall::OfferBurst(call) => self.offer_burst(*call),
            ConnectionCall::GetServerInfo(_) => self.server_info(),
            ConnectionCall::GetDateAndTime(_) => self.reply(&self.environment.date_and_time()),
            // There are no messages, because nothing sends any.
            ConnectionCall::GetMessage(_) | ConnectionCall::GetMessageOld(_) => {
                self.reply(&MessageText { text: Pstr::default() })
            }
            ConnectionCall::GetLoginKey(_) => self.login_key(),
            ConnectionCall::KeyedLogin(call) => self.throttled(&call.name, |this| this.keyed_login(call)),
            ConnectionCall::ClearLogin(call) => self.throttled(&call.name, |this| this.clear_login(call)),
            ConnectionCall::EndOfTask(_) => {
                self.connection.end_task(self.task);
                Ok(())
            }
            ConnectionCall::Logout(_) => {
                self.connection.logout();
                Ok(())
            }
        }
    }

    /// 0x21 (docs/protocols/ncp.md 2.2).
    fn negotiate(&mut self, proposed: u16) -> VolumeResult<()> {
        let largest = self.shared.options.max_packet;
        let accepted = proposed.clamp(MIN_BUFFER, largest);
        self.connection.buffer = accepted.min(largest - OVERHEAD);
        self.reply(&NegotiatedBuffer { accepted })
    }

    /// 0x61 (docs/protocols/ncp.md 2.2): enables signatures and checksums if the client requests them and the level of
    /// the server is not 0. The reply also has the bits that this server prefers, so that a client at level 1 can request
    /// them.
    fn packet_size(&mut self, size: PacketSize) -> VolumeResult<()> {
        let Shared { options, .. } = self.shared;
        let accepted = size.proposed.clamp(MIN_BUFFER, options.max_packet);
        let connection = &mut *self.connection;
        connection.buffer = data_of(accepted, self.transport);
        let checksums = if self.transport.is_ipx() { options.checksums } else { Level::Never };
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
                self.environment.signatures_kept(connection.source);
            }
            connection.security = connection.security.with(Security::SIGNATURE);
        }
        let probes = self.transport.is_datagram() && !requested.has(Security::NO_LARGE_PACKETS);
        let lip = requested.both(Security::NO_LARGE_PACKETS);
        let security = connection.security.with(at_least(Level::IfPossible)).with(lip).0;
        let echo_socket = if probes { options.echo_socket } else { 0 };
        self.reply(&AcceptedPacketSize { accepted, echo_socket, security })
    }

    /// 0x17/0x11 (docs/protocols/ncp.md 2.3).
    fn server_info(&mut self) -> VolumeResult<()> {
        let Shared { options, volumes, .. } = self.shared;
        let (used, peak) = lock(self.connections).counts();
        let (major, minor) = options.version;
        let mut info = ServerInfo::new(options.name, major, minor);
        // Numbers are assigned from the smallest free one on, so that the peak is also the largest number.
        info.max_connections = peak.saturating_add(FREE_CONNECTIONS).min(options.max_connections);
        info.connections = u16::try_from(used).unwrap_or(u16::MAX);
        info.peak_connections = peak;
        info.max_volumes = volumes.len() as u16;
        // Announces the calls with 64-bit offsets (docs/protocols/ncp.md 2.3, 3.5).
        info.large_files = 1;
        self.reply(&info)
    }

    /// 0x17/0x17 (docs/protocols/ncp.md 2.4).
    fn login_key(&mut self) -> VolumeResult<()> {
        let key = self.environment.login_key();
        // A key serves one login: `keyed_login` takes it, so that a recorded response cannot be replayed.
        self.connection.key = Some(key);
        self.reply(&LoginKey { key })
    }

    /// A login, unless earlier failures of this address and name delay it. It is then rejected without a look at the
    /// password, so that the answer says nothing about it.
    fn throttled(
        &mut self,
        name: &[u8],
        login: impl FnOnce(&mut Self) -> VolumeResult<()>,
    ) -> VolumeResult<()> {
        let Shared { throttle, bindery, .. } = self.shared;
        let environment = self.environment;
        let source = self.connection.source;
        let now = environment.now();
        if throttle.is_delayed(source, name, now) {
            // The key of this attempt is used up, as that of every other attempt.
            self.connection.key = None;
            // Once per delay, so that a client that does not stop fills no log.
            if throttle.note_rejection(source, name, now) {
                environment.login_rejected(source, name, Completion::IntruderLockout);
            }
            return Err(Completion::IntruderLockout);
        }
        let done = login(self);
        match done {
            Ok(()) => {
                throttle.note_success(source, name);
                let time = environment.date_and_time();
                self.connection.login_time = time;
                if let Some(user) = self.connection.user {
                    bindery.note_login(user, time);
                }
                environment.logged_in(source, name);
            }
            Err(Completion::Failure) => {
                throttle.note_failure(source, name, now);
                environment.login_failed(source, name);
            }
            // A policy rejected the login, not the password.
            Err(completion) => environment.login_rejected(source, name, completion),
        }
        done
    }

    /// 0x17/0x18 (docs/protocols/ncp.md 2.4). A login key is valid once.
    fn keyed_login(&mut self, login: &KeyedLogin<'_>) -> VolumeResult<()> {
        let Shared { options, .. } = self.shared;
        let connection = &mut *self.connection;
        let key = connection.key.take().ok_or(Completion::Failure)?;
        let user = self.shared.user(&login.name).filter(|_| login.kind == USER).ok_or(Completion::Failure)?;
        let hash = &options.users[user].hash;
        if password::response(&key, hash) != login.response {
            return Err(Completion::Failure);
        }
        let checks = connection.security.has(Security::CHECKSUM);
        if !checks && self.transport.is_ipx() && options.checksums == Level::Always {
            return Err(Completion::AddressRestriction);
        }
        let signs = connection.security.has(Security::SIGNATURE);
        if !signs && options.signatures == Level::Always {
            return Err(Completion::SignatureRequired);
        }
        connection.logout();
        connection.user = Some(user);
        connection.checks = checks;
        // Bursts cannot be signed.
        connection.burst = connection.burst.take().filter(|_| !signs);
        connection.signer = signs.then(|| Signer::new(hash, &key, self.transport));
        Ok(())
    }

    /// 0x17/0x14 (docs/protocols/ncp.md 2.4). Without a login key there is nothing to derive a signature key from, so
    /// this login is not possible with signatures.
    fn clear_login(&mut self, login: &ClearLogin<'_>) -> VolumeResult<()> {
        let Shared { options, .. } = self.shared;
        let connection = &mut *self.connection;
        let signs = connection.security.has(Security::SIGNATURE) || options.signatures == Level::Always;
        // Signatures need the key of an encrypted login, so a login in clear text cannot be combined with
        // them.
        if !options.clear_passwords || signs {
            return Err(Completion::EncryptedLoginRequired);
        }
        let user = self.shared.user(&login.name).filter(|_| login.kind == USER).ok_or(Completion::Failure)?;
        let known = &options.users[user];
        if password::hash(known.id, &login.password.to_ascii_uppercase()) != known.hash {
            return Err(Completion::Failure);
        }
        connection.logout();
        connection.user = Some(user);
        Ok(())
    }
}
