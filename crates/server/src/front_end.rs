//! What every embedded file server has in common, whatever it speaks.

use std::net::SocketAddr;

/// A running file server. Dropping it stops it too.
pub trait FrontEnd: Send {
    /// What it speaks, as shown: `smb`, `nfs`.
    fn protocol(&self) -> &'static str;

    /// Where it listens; with the port the system chose when it was started on port 0.
    fn addr(&self) -> SocketAddr;

    /// Closes the listener and every connection, and returns when its threads are gone.
    fn stop(self: Box<Self>);
}

/// Why a file server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anyone who reaches the address could read and write.
    #[error(
        "{protocol}: refusing to listen on {addr} without users: the address is reachable from other \
         machines; give a user and password, or listen on 127.0.0.1"
    )]
    Exposed {
        /// What the server speaks.
        protocol: &'static str,
        /// Where it was to listen.
        addr: SocketAddr,
    },
    /// Sessions without a user have no keys.
    #[error("{protocol}: signing or encryption cannot be required without users")]
    KeysNeedUsers {
        /// What the server speaks.
        protocol: &'static str,
    },
    /// The address could not be bound.
    #[error("{protocol}: cannot listen on {addr}")]
    Bind {
        /// What the server speaks.
        protocol: &'static str,
        /// Where it was to listen.
        addr: SocketAddr,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// Its threads or runtime could not be made.
    #[error("{protocol}: cannot start its threads")]
    Threads {
        /// What the server speaks.
        protocol: &'static str,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// A share name, user name or size it does not take.
    #[error("{protocol}: {detail}")]
    Options {
        /// What the server speaks.
        protocol: &'static str,
        /// Which one, and why.
        detail: String,
    },
}

/// Refuses an address that others can reach when nobody would have to log in.
pub(crate) fn check_exposure(
    protocol: &'static str,
    addr: SocketAddr,
    has_users: bool,
) -> Result<(), ServeError> {
    if has_users || addr.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(ServeError::Exposed { protocol, addr })
}

#[cfg(test)]
mod tests {
    use super::{ServeError, check_exposure};

    #[test]
    fn only_loopback_goes_without_users() {
        for addr in ["127.0.0.1:445", "127.3.4.5:0", "[::1]:445", "[::ffff:127.0.0.1]:445"] {
            assert!(check_exposure("smb", addr.parse().unwrap(), false).is_ok(), "{addr}");
        }
        for addr in ["0.0.0.0:445", "10.77.0.1:445", "[::]:445", "[2001:db8::1]:445"] {
            let addr = addr.parse().unwrap();
            let refused = check_exposure("smb", addr, false).unwrap_err();
            assert!(matches!(refused, ServeError::Exposed { .. }), "{addr}");
            assert!(refused.to_string().contains("without users"), "{refused}");
            assert!(check_exposure("smb", addr, true).is_ok(), "{addr}");
        }
    }
}
