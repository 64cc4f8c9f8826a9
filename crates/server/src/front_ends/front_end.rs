//! What all embedded file servers have in common.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A running file server. Dropping it closes the listener and every connection, and returns when its threads have ended.
pub trait FrontEnd: Send {
    /// Name of its protocol: `smb`, `nfs`.
    fn protocol(&self) -> &'static str;

    /// Address that it listens on; with the port that the system chose if it was started on port 0.
    fn addr(&self) -> SocketAddr;
}

/// Time from accepting a connection to the login or first call on it.
pub(crate) const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without a request after which a connection is closed. A run keeps a session for its files, which may be idle for
/// a whole load step.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(2 * 3600);

/// Receives a line about each event that the operator of a server should know, such as a failed login. Lines contain
/// names that clients sent.
#[derive(Clone)]
pub struct EventLog(Arc<dyn Fn(&str) + Send + Sync>);

impl EventLog {
    /// Calls this function with each line.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub(crate) fn write(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new(|line| tracing::info!("{line}"))
    }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventLog")
    }
}

/// Why a file server fails to start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody who can reach the address could read and write.
    #[error(
        "{protocol}: refusing to listen on {addr} without accounts: the address is reachable from other \
         machines; give an account with a password, or listen on 127.0.0.1"
    )]
    Exposed {
        /// Protocol of the server.
        protocol: &'static str,
        /// Address that it should listen on.
        addr: SocketAddr,
    },
    /// SMB1 is served on loopback only.
    #[error(
        "--smb1: refusing to serve SMB1 on {addr}, which is reachable from other machines: SMB1 is unsafe; \
         listen on 127.0.0.1, or leave out --smb1"
    )]
    Smb1Exposed {
        /// Address that it should listen on.
        addr: SocketAddr,
    },
    /// Sessions without an account have no keys.
    #[error("{protocol}: signing or encryption cannot be required without accounts")]
    KeysNeedAccounts {
        /// Protocol of the server.
        protocol: &'static str,
    },
    /// The address could not be bound.
    #[error("{protocol}: cannot listen on {addr}")]
    Bind {
        /// Protocol of the server.
        protocol: &'static str,
        /// Address that it should listen on.
        addr: SocketAddr,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// Its threads or runtime could not be started.
    #[error("{protocol}: cannot start its threads")]
    Threads {
        /// Protocol of the server.
        protocol: &'static str,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file with the state of an earlier start cannot be used.
    #[error("{protocol}: cannot use the state file {path}")]
    State {
        /// Protocol of the server.
        protocol: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// An invalid share name, account name or size.
    #[error("{protocol}: {detail}")]
    Options {
        /// Protocol of the server.
        protocol: &'static str,
        /// The option, and what is wrong with it.
        detail: String,
    },
}

/// Rejects an address that other machines can reach if no login is required.
pub(crate) fn check_exposure(
    protocol: &'static str,
    addr: SocketAddr,
    has_accounts: bool,
) -> Result<(), ServeError> {
    if has_accounts || addr.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(ServeError::Exposed { protocol, addr })
}

#[cfg(test)]
mod tests {
    use super::{ServeError, check_exposure};

    #[test]
    fn only_loopback_addresses_are_served_without_accounts() {
        for addr in ["127.0.0.1:445", "127.3.4.5:0", "[::1]:445", "[::ffff:127.0.0.1]:445"] {
            assert!(check_exposure("smb", addr.parse().unwrap(), false).is_ok(), "{addr}");
        }
        for addr in ["0.0.0.0:445", "10.77.0.1:445", "[::]:445", "[2001:db8::1]:445"] {
            let addr = addr.parse().unwrap();
            let error = check_exposure("smb", addr, false).unwrap_err();
            assert!(matches!(error, ServeError::Exposed { .. }), "{addr}");
            assert!(error.to_string().contains("without accounts"), "{error}");
            assert!(check_exposure("smb", addr, true).is_ok(), "{addr}");
        }
    }
}
