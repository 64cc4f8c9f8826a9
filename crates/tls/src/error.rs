//! What can be wrong with files, and why a handshake fails.

use std::io;
use std::path::PathBuf;

use rustls::{AlertDescription, CertificateError, Error};

/// A file that cannot be used. It shows no content of the file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not contain what it should.
    #[error("{path}: {detail}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The certificate and the key cannot be used together.
    #[error("the certificate and the private key cannot be used: {detail}")]
    Pair {
        /// The reason.
        detail: String,
    },
    /// The system has no list of the authorities that it trusts.
    #[error("this system has no list of trusted certificate authorities")]
    NoAuthorities,
}

/// Why TLS fails, in words that name what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The name of the server cannot be in a certificate.
    #[error("'{host}' is neither a host name nor an address that a certificate can be for")]
    Name {
        /// The name.
        host: String,
    },
    /// No trusted authority has signed the certificate.
    #[error("the certificate of the server is untrusted: no trusted authority has signed it")]
    Untrusted,
    /// The certificate is that of an authority, which TLS does not accept for a server.
    #[error(
        "the certificate of the server is that of an authority (CA:TRUE), such as `openssl req -x509` makes by default; \
         make it with `-addext basicConstraints=critical,CA:FALSE`, or sign one for the server with it"
    )]
    Authority,
    /// The certificate is for another server.
    #[error("the certificate is not for '{host}' but for {names}")]
    WrongName {
        /// The name of the server in the URL.
        host: String,
        /// The names of the certificate.
        names: String,
    },
    /// The validity of the certificate is over.
    #[error("the certificate of the server is expired")]
    Expired,
    /// The validity of the certificate has not begun.
    #[error("the certificate of the server is not valid yet")]
    NotYetValid,
    /// The certificate is rejected for another reason.
    #[error("the certificate of the server is rejected: {0}")]
    Certificate(String),
    /// The peer wants a certificate of this side.
    #[error("the server requires a certificate of the client")]
    CertificateRequired,
    /// The peer rejects this side's certificate.
    #[error("the server rejects the certificate of the client ({0})")]
    CertificateRejected(String),
    /// The peer has no version, algorithm or protocol in common with this side.
    #[error("client and server have no TLS in common: {0}")]
    Incompatible(String),
    /// The connection ended within the handshake.
    #[error("the server closed the connection during the TLS handshake")]
    Cut,
    /// The peer does not answer as TLS requires.
    #[error("the peer breaks TLS: {0}")]
    Broken(String),
    /// The connection failed.
    #[error("{0}")]
    Connection(String),
}

impl TlsError {
    /// The cause of a failed handshake with `host`, or of a failed connection after it.
    pub(crate) fn new(error: &io::Error, host: &str) -> Self {
        if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            return Self::of_library(error, host);
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                Self::Cut
            }
            _ => Self::Connection(error.to_string()),
        }
    }

    fn of_library(error: &Error, host: &str) -> Self {
        match error {
            Error::InvalidCertificate(error) => Self::of_certificate(error, host),
            Error::AlertReceived(alert) => Self::of_alert(*alert),
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => {
                Self::Incompatible(error.to_string())
            }
            Error::NoCertificatesPresented => Self::CertificateRequired,
            _ => Self::Broken(error.to_string()),
        }
    }

    fn of_certificate(error: &CertificateError, host: &str) -> Self {
        match error {
            // An authority with the name of a trusted one, and another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::Untrusted,
            CertificateError::NotValidForName => {
                Self::WrongName { host: host.to_owned(), names: "another name".to_owned() }
            }
            CertificateError::NotValidForNameContext { presented, .. } => {
                // The library writes each as `DnsName("nas.example")`.
                let names: Vec<&str> =
                    presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name)).collect();
                let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
                Self::WrongName { host: host.to_owned(), names }
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotYetValid,
            // The library's own type is in a crate that this one does not use.
            CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                Self::Authority
            }
            other => Self::Certificate(other.to_string()),
        }
    }

    /// The peer's reason to end the connection. The ones about certificates concern that of this side.
    fn of_alert(alert: AlertDescription) -> Self {
        use AlertDescription as Alert;
        let name = format!("{alert:?}");
        match alert {
            Alert::CertificateRequired => Self::CertificateRequired,
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied => Self::CertificateRejected(name),
            Alert::HandshakeFailure
            | Alert::ProtocolVersion
            | Alert::InsufficientSecurity
            | Alert::NoApplicationProtocol => Self::Incompatible(name),
            _ => Self::Broken(format!("it reports {name}")),
        }
    }
}
