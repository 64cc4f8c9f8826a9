//! The life of a connection: create, negotiate, login, logout, destroy (docs/protocols/ncp.md 2).

use super::ClientError;
use super::exchange::{Client, wire};
use super::options::{Login, Options};
use super::probing::ProbeResult;
use super::transport::Transport;
use crate::security::level::Level;
use crate::security::password;
use crate::security::signature::Signer;
use crate::wire::login::{GetLoginKey, GetObjectId, KeyedLogin, LoginKey, Logout, ObjectId, USER};
use crate::wire::negotiate::Security;
use crate::wire::server_info::{GetServerInfo, ServerInfo};
use crate::wire::{Codec, Completion, Pstr};

impl<C: Transport> Client<C> {
    /// Creates a connection over a transport that reaches the server, and negotiates.
    pub async fn connect(transport: C, options: Options) -> Result<Self, ClientError> {
        let mut client = Self::new(transport, options);
        client.connection.create();
        client.begin_wait("create connection");
        client.finish().await?;
        client.negotiate().await?;
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

    /// True when packets have checksums of IPX.
    pub const fn checks(&self) -> bool {
        self.checks
    }

    /// What probing found of the path.
    pub const fn probed(&self) -> ProbeResult {
        self.probed
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
            return Err(ClientError::SignaturesUnavailable { step: STEP });
        }
        if self.options.checksums == Level::Always && !self.checks {
            return Err(ClientError::ChecksumsUnavailable { step: STEP });
        }
        match self.login_once(login).await {
            Err(ClientError::Refused { completion: Completion::SignatureRequired, .. })
                if self.options.signatures == Level::IfRequested && !self.signs =>
            {
                self.negotiate_with(Security::SIGNATURE).await?;
                self.login_once(login).await
            }
            done => done,
        }
    }

    /// Logs out and ends the connection.
    pub async fn disconnect(mut self) -> Result<(), ClientError> {
        self.call("logout", &Logout {}.into()).await?;
        self.connection.destroy();
        self.begin_wait("destroy connection");
        match self.finish().await {
            // The reply to the first destroy was lost: the connection is gone all the same.
            Ok(_) | Err(ClientError::ConnectionLost { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn login_once(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        let name = login.user.to_ascii_uppercase();
        let name = Pstr::new(name.as_bytes()).map_err(wire(STEP))?;
        let key = LoginKey::decode(self.call(STEP, &GetLoginKey {}.into()).await?).map_err(wire(STEP))?.key;
        let object = self.call(STEP, &GetObjectId { kind: USER, name }.into()).await?;
        let id = ObjectId::decode(object).map_err(wire(STEP))?.id;
        let hash = password::hash_upper(id, login.password);
        let response = password::response(&key, &hash);
        match self.call(STEP, &KeyedLogin { response, kind: USER, name }.into()).await {
            // Logged in all the same.
            Ok(_) | Err(ClientError::Refused { completion: Completion::PasswordExpired, .. }) => {}
            Err(error) => return Err(error),
        }
        if self.signs {
            let transport = self.connection.transport_kind();
            self.connection.sign(Signer::new(&hash, &key, transport));
        }
        self.offer_burst().await
    }
}
