//! Ranks over MPI: the transport of `sharebench-cluster` on the crate `mpi`.
//!
//! Without the feature `library` the crate is empty: MPI's library and headers are not everywhere.

#[cfg(feature = "library")]
mod world;

#[cfg(feature = "library")]
pub use world::{StartError, World};
