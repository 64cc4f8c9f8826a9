//! Signatures and encryption of messages with the keys of a context, without the library (RFC 4121 4).

mod cts;
mod derivation;
mod encryption;
mod keys;
mod tokens;

#[cfg(test)]
mod tests;

pub use encryption::Encryption;
pub use keys::{KeyUsages, Role, TokenKeys};
pub use tokens::{Protection, ProtectionError, UnwrappedMessage, WRAP_HEADER_LEN};
