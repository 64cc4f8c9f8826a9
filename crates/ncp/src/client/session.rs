//! The life cycle of a connection: create, negotiate, login, logout, destroy (docs/protocols/ncp.md 1.4, 2.2, 2.4).

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
use crate::wire::{Completion, Pstr};

impl<C: Transport> Client<C> {
    /// Creates a connection over a transport and negotiates.
    pub async fn connect(transport: C, options: Options) -> Result<Self, ClientError> {
        let mut client = Self::new(transport, options);
        client.connection.create();
        client.begin_wait("create connection");
        client.finish().await?;
        client.negotiate().await?;
        // Asked once: byte 85 of the server information announces the calls with 64-bit offsets
        // (docs/protocols/ncp.md 3.5).
        client.large = client.server_info().await?.large_files == 1;
        Ok(client)
    }

    /// The largest number of data bytes of a read or write.
    pub const fn buffer(&self) -> usize {
        self.buffer as usize
    }

    /// True when packets are signed after the login.
    pub const fn signs(&self) -> bool {
        self.signs
    }

    /// True when packets have IPX checksums.
    pub const fn checks(&self) -> bool {
        self.checks
    }

    /// The result of probing the path.
    pub const fn probed(&self) -> ProbeResult {
        self.probed
    }

    /// True when the server supports the calls with 64-bit offsets.
    pub const fn is_large(&self) -> bool {
        self.large
    }

    /// Name, version and capabilities of the server.
    pub async fn server_info(&mut self) -> Result<ServerInfo, ClientError> {
        const STEP: &str = "server information";
        self.ask(STEP, &GetServerInfo {}.into()).await
    }

    /// Logs in with a keyed hash, so that the password is not transmitted.
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
                // A server of level 2 cannot request signatures before it sees the login fail, so the client
                // negotiates again, once (docs/design/ncp.md).
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
            // The reply to the first destroy was lost; the retransmission found no connection.
            Ok(_) | Err(ClientError::ConnectionLost { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn login_once(&mut self, login: Login<'_>) -> Result<(), ClientError> {
        const STEP: &str = "login";
        // Bindery names are in upper case, and so are passwords before hashing (docs/protocols/ncp.md 2.4).
        let name = login.user.to_ascii_uppercase();
        let name = Pstr::new(name.as_bytes()).map_err(wire(STEP))?;
        let LoginKey { key } = self.ask(STEP, &GetLoginKey {}.into()).await?;
        let ObjectId { id, .. } = self.ask(STEP, &GetObjectId { kind: USER, name }.into()).await?;
        let hash = password::hash_upper(id, login.password);
        let response = password::response(&key, &hash);
        match self.call(STEP, &KeyedLogin { response, kind: USER, name }.into()).await {
            // The login succeeds although the password has expired.
            Ok(_) | Err(ClientError::Refused { completion: Completion::PasswordExpired, .. }) => {}
            Err(error) => return Err(error),
        }
        // Signing starts after the reply to the login, which is itself unsigned (docs/protocols/ncp.md 5.1).
        if self.signs {
            let transport = self.connection.transport_kind();
            self.connection.sign(Signer::new(&hash, &key, transport));
        }
        // After the login, because bursts are not signed: whether this connection signs has to be known first.
        self.offer_burst().await
    }
}
