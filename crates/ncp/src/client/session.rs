//! The life of a connection: create, negotiate, login, logout, destroy (ncp.md 2).

use super::ClientError;
use super::carrier::Carrier;
use super::exchange::{Client, wire};
use super::options::{LEAST_BUFFER, Login, MOST_BUFFER, Options};
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::{Signer, Transport};
use crate::wire::login::{GetLoginKey, GetObjectId, KeyedLogin, LoginKey, Logout, ObjectId, USER};
use crate::wire::negotiate::{AcceptedPacketSize, NegotiateBuffer, NegotiatedBuffer, PacketSize, Security};
use crate::wire::server_info::{GetServerInfo, ServerInfo};
use crate::wire::{Codec, Completion, Pstr};

/// What headers take of a packet on IPX.
const IPX_HEADERS: u16 = 64;
/// What a signature adds to a packet.
const SIGNATURE: u16 = 8;

impl<C: Carrier> Client<C> {
    /// Creates a connection over a carrier that reaches the server, and negotiates.
    pub async fn connect(carrier: C, options: Options) -> Result<Self, ClientError> {
        let mut client = Self::new(carrier, options);
        client.conversation.create();
        client.begin_wait("create connection");
        client.finish().await?;
        client.negotiate(options.signatures >= Level::IfPossible).await?;
        client.large = client.server_info().await?.large_files == 1;
        Ok(client)
    }

    /// Most data of a read or write, in bytes.
    pub const fn buffer(&self) -> usize {
        self.buffer as usize
    }

    /// True when packets are signed once a user has logged in.
    pub const fn signs(&self) -> bool {
        self.signs
    }

    /// True when the server has the calls with 64-bit offsets.
    pub const fn is_large(&self) -> bool {
        self.large
    }

    /// What the server is.
    pub async fn server_info(&mut self) -> Result<ServerInfo, ClientError> {
        const STEP: &str = "server information";
        ServerInfo::decode(self.call(STEP, &GetServerInfo {}.into()).await?).map_err(wire(STEP))
    }

    /// Logs in with a key, so that the password stays here.
    pub async fn login(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        if self.options.signatures == Level::Always && !self.signs {
            return Err(ClientError::NotSigned { step: STEP });
        }
        match self.login_once(login).await {
            Err(ClientError::Refused { completion: Completion::SignatureRequired, .. })
                if self.options.signatures == Level::IfAsked && !self.signs =>
            {
                self.negotiate(true).await?;
                self.login_once(login).await
            }
            done => done,
        }
    }

    /// Logs out and ends the connection.
    pub async fn disconnect(mut self) -> Result<(), ClientError> {
        self.call("logout", &Logout {}.into()).await?;
        self.conversation.destroy();
        self.begin_wait("destroy connection");
        match self.finish().await {
            // The reply to the first destroy was lost: the connection is gone all the same.
            Ok(_) | Err(ClientError::ConnectionLost { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// 0x61, or 0x21 where that is unknown.
    async fn negotiate(&mut self, signatures: bool) -> Result<(), ClientError> {
        const STEP: &str = "negotiate";
        let wanted = self.options.buffer.clamp(LEAST_BUFFER, MOST_BUFFER);
        let (security, room) = if signatures { (Security::SIGNATURE.0, SIGNATURE) } else { (0, 0) };
        // On IPX the size is that of a packet with its headers (ncp.md 2.2).
        let ipx = self.conversation.transport() == Transport::Ipx;
        let room = room + if ipx { IPX_HEADERS } else { 0 };
        let proposed = wanted + room;
        let accepted = match self.call(STEP, &PacketSize { proposed, security }.into()).await {
            Ok(data) => AcceptedPacketSize::decode(data).map_err(wire(STEP))?,
            Err(ClientError::Refused { completion: Completion::UnknownFunction, .. }) => {
                let data = self.call(STEP, &NegotiateBuffer { proposed: wanted }.into()).await?;
                let accepted = NegotiatedBuffer::decode(data).map_err(wire(STEP))?.accepted;
                AcceptedPacketSize { accepted, echo_socket: 0, security: 0 }
            }
            Err(error) => return Err(error),
        };
        // 0 keeps what was proposed.
        let accepted_size = if accepted.accepted == 0 { proposed } else { accepted.accepted };
        self.buffer = accepted_size.saturating_sub(room).clamp(LEAST_BUFFER, wanted);
        self.signs = Security(accepted.security).both(Security(security)).has(Security::SIGNATURE);
        Ok(())
    }

    async fn login_once(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        let name = login.user.to_ascii_uppercase();
        let name = Pstr::new(name.as_bytes()).map_err(wire(STEP))?;
        let key = LoginKey::decode(self.call(STEP, &GetLoginKey {}.into()).await?).map_err(wire(STEP))?.key;
        let object = self.call(STEP, &GetObjectId { kind: USER, name }.into()).await?;
        let id = ObjectId::decode(object).map_err(wire(STEP))?.id;
        let hash = password::hash(id, login.password.to_ascii_uppercase().as_bytes());
        let response = password::response(&key, &hash);
        match self.call(STEP, &KeyedLogin { response, kind: USER, name }.into()).await {
            // Logged in all the same.
            Ok(_) | Err(ClientError::Refused { completion: Completion::PasswordExpired, .. }) => {}
            Err(error) => return Err(error),
        }
        if self.signs {
            let transport = self.conversation.transport();
            self.conversation.sign(Signer::new(&hash, &key, transport));
        }
        self.offer_burst().await
    }
}
