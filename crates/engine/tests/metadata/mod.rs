//! Metadata cells on doubles, by the group of their tests: what is counted, what is verified, which servers are found to break the
//! rules, and what is left.

mod caching;
mod depth;
mod locks;
mod names;
mod notify;
pub mod replies;
mod runner;
mod server_side;
mod time_budget;
