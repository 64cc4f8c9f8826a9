//! End to end and interop tests: our program and its parts against real servers, clients and a browser.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

mod adapters;
mod cli;
mod local;
mod ncp;
mod nfs;
mod peers;
mod plans;
mod robustness;
mod smb;
mod stored;
