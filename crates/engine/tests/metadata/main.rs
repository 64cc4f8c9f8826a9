//! Metadata cells on doubles, by the group of their tests: what is counted, what is verified, which servers are found to break the
//! rules, and what is left.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

mod caching;
mod depth;
mod locks;
mod names;
mod notify;
mod replies;
mod runner;
mod server_side;
mod time_budget;
