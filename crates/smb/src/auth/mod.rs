//! Logging in: `NTLMv2` (MS-NLMP) or Kerberos within SPNEGO (RFC 4178), and anonymously.

mod acceptor;
mod der;
mod error;
mod hash;
mod kerberos;
mod login;
mod message;
mod ntlmv2;
mod roles;
mod spnego;
mod target_info;
mod ticket;

#[cfg(test)]
mod acceptor_tests;
#[cfg(test)]
mod tests;

pub use acceptor::{AcceptedLogin, NtlmAcceptor, ReceivedLogin};
pub use error::AuthError;
pub(crate) use hash::md5;
pub(crate) use kerberos::KerberosLogin;
pub(crate) use login::{EPOCH_DIFFERENCE, NtlmLogin};
pub use roles::{TokenRole, decode_in_each_role};
pub use spnego::ServerMechanisms;
pub(crate) use spnego::{Mechanism, listed_mechanisms};
pub use ticket::{AcceptedTicket, accept_ticket};
