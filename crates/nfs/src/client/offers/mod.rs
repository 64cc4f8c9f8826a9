//! What an NFS server offers, for `sharebench probe`, and the explanation of a failed connection.
//!
//! [`versions`] calls every version of the programs, [`mounts`] lists registrations and exports, [`session`] mounts as a run
//! does, [`squash`] examines the rights of root, and [`rows`] turns the results into a report. Nothing is written to the
//! server.

mod explain;
mod mounts;
mod probe;
mod rows;
mod session;
mod squash;
mod versions;

#[cfg(test)]
mod tests;

pub(crate) use explain::explain;
pub use probe::NfsProbe;
