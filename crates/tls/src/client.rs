//! The client's side of a handshake.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::ALPN;
use crate::error::{FileError, TlsError};
use crate::files::{authorities, certificates, private_key};
use crate::socket::Socket;
use crate::stream::TlsStream;

/// Whom a client trusts, and its own certificate. Clones share both.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    has_certificate: bool,
}

impl ClientTls {
    /// Trusts the authorities of a file, or those of the system; `identity` are the files of a certificate with its chain and of
    /// its private key.
    pub fn new(ca: Option<&Path>, identity: Option<(&Path, &Path)>) -> Result<Self, FileError> {
        let pair = |error: Error| FileError::Pair { detail: error.to_string() };
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(pair)?
            .with_root_certificates(authorities(ca)?);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificates = certificates(certificate)?;
                builder.with_client_auth_cert(certificates, private_key(key)?).map_err(pair)?
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), has_certificate: identity.is_some() })
    }

    /// True if it can prove who it is.
    pub const fn has_certificate(&self) -> bool {
        self.has_certificate
    }

    /// Performs the handshake with the server that the URL names `host`, by a host name or an address.
    pub async fn connect(&self, tcp: TcpStream, host: &str) -> Result<TlsStream, TlsError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name =
            ServerName::try_from(bare.to_owned()).map_err(|_| TlsError::Name { host: host.to_owned() })?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, Socket::new(tcp)).await;
        let stream = stream.map_err(|error| TlsError::new(&error, host))?;
        // The library rejects a protocol that was not offered. Many servers select none, although RFC 9289, 5.1 requires it.
        Ok(TlsStream::new(stream, host))
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientTls(..)")
    }
}
