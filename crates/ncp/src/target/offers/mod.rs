//! What an NCP server offers, for `sharebench probe`, and the explanation of a failed connection.
//!
//! [`session`] logs in as a run does, [`negotiation`] finds out on connections without a login what the server negotiates,
//! [`server_clock`] compares the clocks, and [`rows`] turns the results into a report. Nothing is written to the server.

mod explain;
mod login_methods;
mod negotiation;
mod probe;
mod rows;
mod server_clock;
mod session;

pub(crate) use explain::explain;
pub use probe::NcpProbe;
