//! Ranks over MPI: the transport of `sharebench-cluster` on the crate `mpi`.
//!
//! Without the feature `library` the crate is empty, because not every machine has the MPI library and headers.

#[cfg(feature = "library")]
mod process;

#[cfg(feature = "library")]
pub use process::start;
