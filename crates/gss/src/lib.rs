//! Kerberos for the clients and servers, through the GSSAPI library of the system.
//!
//! The library (MIT Kerberos, or Heimdal) is loaded when the first login needs it, so that the program neither links it
//! nor requires it. It requests tickets and establishes security contexts (RFC 2743, RFC 4121). Once a context is
//! established, [`Protection`] signs and encrypts messages with the keys of the context and without the library,
//! because the library copies every message (docs/design/security-layers.md has the reasons for both).
//!
//! This crate knows neither SMB nor NFS, and has no clock and no sockets of its own. Calls that request a ticket block
//! until the KDC answers; callers run them on a thread that may block.
//!
//! ```no_run
//! use std::sync::Arc;
//! use sharebench_gss::{Identity, Initiator, Service, ContextStep};
//!
//! # fn send(_: Vec<u8>) -> Vec<u8> { Vec::new() }
//! # fn main() -> Result<(), sharebench_gss::GssError> {
//! let credential = Arc::new(Identity::ticket_cache().acquire()?);
//! let mut login = Initiator::new(credential, &Service::on_host("cifs", "files.example.org"));
//! let ContextStep::Continue(token) = login.step(&[])? else { unreachable!("authentication is mutual") };
//! let ContextStep::Done(_) = login.step(&send(token))? else { unreachable!("Kerberos has one round trip") };
//! let key = login.into_context()?.session_key()?;
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

/// How long a login waits for a ticket. The library waits longer for a KDC that accepts connections and does not answer, and
/// longer still for several of them.
pub const TICKET_LIMIT: Duration = Duration::from_secs(20);

mod acceptor;
mod context;
mod error;
mod identity;
mod initiator;
mod library;
mod pool;
mod protection;
mod service;
mod shared;

pub use acceptor::{Acceptor, AcceptorKeys};
pub use context::SecurityContext;
pub use error::{GssError, Status};
pub use identity::{Credential, Identity};
pub use initiator::{ContextStep, Initiator};
pub use library::is_available;
pub use pool::TicketPool;
pub use protection::{
    Encryption, KeyUsages, Protection, ProtectionError, Role, TokenKeys, UnwrappedMessage, WRAP_HEADER_LEN,
};
pub use service::Service;
pub use shared::SharedCredential;
