//! The way to the server, and what a failure on it points at.

use std::io;
use std::net::{IpAddr, SocketAddr};

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::UrlPart;
use tokio::net::TcpStream;

/// A failure while connecting: what to look at, and what happened.
#[derive(Debug)]
pub(crate) struct DialError {
    pub(crate) part: UrlPart,
    pub(crate) class: ErrorClass,
    pub(crate) detail: String,
}

impl DialError {
    pub(crate) fn new(part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> Self {
        Self { part, class, detail: detail.into() }
    }

    /// A request's failure, blamed on a part of the URL.
    pub(crate) fn blame(part: UrlPart) -> impl Fn(OpError) -> Self {
        move |error| {
            // Whoever breaks off or breaks the protocol is to blame, whatever was asked.
            let part = match error.class {
                ErrorClass::Disconnected | ErrorClass::Protocol => UrlPart::Port,
                _ => part,
            };
            Self::new(part, error.class, format!("{}: {}", error.step, error.detail))
        }
    }

    /// A reply that breaks the protocol.
    pub(crate) fn broken(error: impl std::fmt::Display) -> Self {
        Self::new(UrlPart::Port, ErrorClass::Protocol, error.to_string())
    }
}

/// Connects to the first address of a host.
pub(crate) async fn dial(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let address = SocketAddr::new(resolve(host).await?, port);
    let failed = |error: io::Error| {
        let (part, class) = match error.kind() {
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                (UrlPart::Host, ErrorClass::Disconnected)
            }
            io::ErrorKind::TimedOut => (UrlPart::Host, ErrorClass::Timeout),
            _ => (UrlPart::Port, ErrorClass::Disconnected),
        };
        DialError::new(part, class, format!("{address}: {error}"))
    };
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

async fn resolve(host: &str) -> Result<IpAddr, DialError> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let unknown = |detail: String| DialError::new(UrlPart::Host, ErrorClass::NotFound, detail);
    let mut found = tokio::net::lookup_host((host, 0)).await.map_err(|error| unknown(error.to_string()))?;
    found.next().map(|address| address.ip()).ok_or_else(|| unknown("the name has no address".into()))
}
