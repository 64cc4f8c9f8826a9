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
mod embedded;
mod nfs;
mod smb;
