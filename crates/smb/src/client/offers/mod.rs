//! What an SMB server offers, for `sharebench probe`, and the explanation of a failed connection.
//!
//! [`dialects`] negotiates each dialect alone, [`session`] opens one session as a run does, [`shares`] lists the shares over
//! it, and [`rows`] turns the results into a report. Nothing is written to the server.

mod dialects;
mod explain;
mod probe;
mod rows;
mod session;
mod shares;

#[cfg(test)]
mod tests;

pub(crate) use explain::explain;
pub use probe::SmbProbe;
