//! Ranks over MPI: the transport of `sharebench-cluster` on the crate `mpi`.
//!
//! Without the feature `library` it has none, because not every machine has the MPI library and headers.

#[cfg(feature = "library")]
mod process;

use sharebench_cluster::StartRank;

/// Starts MPI.
#[cfg(feature = "library")]
pub const START: Option<StartRank> = Some(process::start);
/// None in a build without the library.
#[cfg(not(feature = "library"))]
pub const START: Option<StartRank> = None;
