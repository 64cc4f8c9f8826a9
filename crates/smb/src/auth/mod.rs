//! Logging in: `NTLMv2` (MS-NLMP) within SPNEGO (RFC 4178), and anonymously.

mod acceptor;
mod der;
mod error;
mod hash;
mod login;
mod message;
mod ntlmv2;
mod spnego;
mod target_info;

#[cfg(test)]
mod acceptor_tests;
#[cfg(test)]
mod tests;

pub use acceptor::{AcceptedLogin, NtlmAcceptor, ReceivedLogin};
pub use error::AuthError;
pub(crate) use hash::md5;
pub(crate) use login::{EPOCH_DIFFERENCE, NtlmLogin};
pub(crate) use spnego::{Mechanism, listed_mechanisms};
