//! The target against the embedded server.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod cache;
mod names;
mod offers;
mod sessions;
