//! Connecting to a server, and which part of the URL a failure points at.

use std::io;
use std::net::{IpAddr, SocketAddr};

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::{ConnectError, SessionSpec, UrlPart};

/// A failure before a session exists: which part of the URL to check, and what happened.
///
/// The user reads it as a [`ConnectError`], which adds the URL. While a session is being opened the URL does not
/// matter, so that the steps (name resolution, TCP, login, mount) pass this smaller type.
#[derive(Debug)]
pub struct DialError {
    /// Part of the URL that the user should check.
    pub part: UrlPart,
    /// Kind of failure.
    pub class: ErrorClass,
    /// Description of the failure, without the URL.
    pub detail: String,
}

impl DialError {
    /// A failure that points at `part`.
    pub fn new(part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> Self {
        Self { part, class, detail: detail.into() }
    }

    /// Attributes the failure of a request to `part`.
    pub fn blame(part: UrlPart) -> impl Fn(OpError) -> Self {
        move |error| Self::new(part, error.class, format!("{}: {}", error.step, error.detail))
    }

    /// A reply that breaks the protocol: something other than the expected server listens at the port.
    pub fn protocol_violation(error: impl std::fmt::Display) -> Self {
        Self::new(UrlPart::Port, ErrorClass::Protocol, error.to_string())
    }

    /// Adds the likely cause if the server closed a new connection before its first reply: servers at their limit of
    /// connections do that.
    #[must_use]
    pub fn before_first_reply(mut self) -> Self {
        if self.class == ErrorClass::Disconnected {
            self.detail.push_str("; the server may be at its limit of connections");
        }
        self
    }

    /// The error that the user reads.
    pub fn at_url(self, url: &str) -> ConnectError {
        ConnectError { url: url.to_owned(), part: self.part, class: self.class, detail: self.detail }
    }
}

/// Resolves a host name or address literal to its first address.
pub async fn resolve(host: &str) -> Result<IpAddr, DialError> {
    // A literal needs no resolver, which may be slow or absent.
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let unknown = |detail: String| DialError::new(UrlPart::Host, ErrorClass::NotFound, detail);
    let mut found = tokio::net::lookup_host((host, 0)).await.map_err(|error| unknown(error.to_string()))?;
    found.next().map(|address| address.ip()).ok_or_else(|| unknown("the name has no address".into()))
}

/// Describes a failed TCP connection. `port` is the part of the URL to check if the host answers and nobody listens;
/// `silent` is the part to check if nothing answers at all.
pub fn connect_error(address: SocketAddr, error: &io::Error, port: UrlPart, silent: UrlPart) -> DialError {
    let (part, class) = match error.kind() {
        // The system answered that no route leads there: the port cannot be the mistake.
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            (UrlPart::Host, ErrorClass::Disconnected)
        }
        io::ErrorKind::TimedOut => (silent, ErrorClass::Timeout),
        _ => (port, ErrorClass::Disconnected),
    };
    DialError::new(part, class, format!("{address}: {error}"))
}

/// Rejects a session that has more slots, or larger ones, than a client supports.
pub fn check_session_size(
    spec: &SessionSpec,
    max_slots: u32,
    max_record_bytes: u32,
) -> Result<(), DialError> {
    if spec.slots <= max_slots && spec.slot_bytes <= max_record_bytes {
        return Ok(());
    }
    let detail = format!(
        "{} slots of {} bytes; at most {max_slots} of {max_record_bytes}",
        spec.slots, spec.slot_bytes
    );
    Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail))
}
