//! Kerberos: our clients and servers in a realm of their own, against real servers and clients.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

#[expect(dead_code, reason = "counting requests needs no realm")]
#[path = "../end_to_end/adapters.rs"]
mod adapters;
mod bad_input;
mod contexts;
mod costs;
mod embedded;
mod everything;
mod expiry;
mod kernel;
mod nfs;
mod secrets;
mod smb;
#[expect(dead_code, reason = "steps are not summed here")]
#[path = "../end_to_end/stored.rs"]
mod stored;
mod tampering;
