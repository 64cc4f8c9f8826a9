//! The server's side of a handshake.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{Error, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::ALPN;
use crate::error::FileError;
use crate::files::{authorities, certificates, private_key};
use crate::socket::Socket;
use crate::stream::TlsStream;

/// The certificate of a server, and the authority of its clients. Clones share both.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// Reads a certificate with its chain, and its private key. With `client_ca` every client needs a certificate that an
    /// authority of that file has signed.
    pub fn new(certificate: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Self, FileError> {
        let pair = |detail: String| FileError::Pair { detail };
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| pair(error.to_string()))?;
        let builder = if client_ca.is_some() {
            let roots = Arc::new(authorities(client_ca)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| pair(error.to_string()))?)
        } else {
            builder.with_no_client_auth()
        };
        let certificates = certificates(certificate)?;
        let config = builder.with_single_cert(certificates, private_key(key)?);
        let mut config = config.map_err(|error: Error| pair(error.to_string()))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self(Arc::new(config)))
    }

    /// Performs the handshake with a client. A client that offers other protocols only is rejected. One that offers none is
    /// accepted, such as tlshd of Linux, although RFC 9289, 5.1 requires the name.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<TlsStream> {
        let stream = TlsAcceptor::from(Arc::clone(&self.0)).accept(Socket::new(tcp)).await?;
        Ok(TlsStream::new(stream, ""))
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerTls(..)")
    }
}
