//! The GSSAPI library of the system. All unsafe code of the crate is in this module.
//!
//! `symbols` declares the library's types (RFC 2744) and loads its functions; `calls` wraps each function in a safe one
//! whose handles release themselves. A handle never outlives the library, which is never unloaded.

mod calls;
mod store;
mod symbols;

pub(crate) use calls::{RawContext, RawCredential, RawName};
pub(crate) use store::CredentialStore;

/// True if the system has a GSSAPI library. The first call loads it.
pub fn is_available() -> bool {
    symbols::functions().is_ok()
}
