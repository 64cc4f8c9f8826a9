//! Coordination of several processes that run one test together: ranks, as in MPI.
//!
//! A [`Transport`] exchanges bytes between ranks: over MPI (crate `sharebench-mpi`), or between threads of one
//! process ([`threads`]). [`Ranks`] builds the collective operations on it: agreement, division of users, clock
//! alignment, reduction along a tree. Rank 0 is the leader: it decides, shows and stores.
//!
//! ```
//! use sharebench_cluster::{Ranks, threads};
//! let sums: Vec<Option<u32>> = threads(3)
//!     .into_iter()
//!     .map(|transport| {
//!         std::thread::spawn(move || {
//!             let ranks = Ranks::unnamed(Box::new(transport));
//!             ranks.reduce(ranks.rank(), |sum, more| *sum += more).unwrap()
//!         })
//!     })
//!     .collect::<Vec<_>>()
//!     .into_iter()
//!     .map(|thread| thread.join().unwrap())
//!     .collect();
//! assert_eq!(sums, [Some(0 + 1 + 2), None, None]);
//! ```

mod agreement;
mod clocks;
mod division;
mod launcher;
mod liveness;
mod ranks;
mod threads;
mod transport;
mod tree;

pub use agreement::{AgreementError, Mismatch, RankInfo, differences};
pub use clocks::{ClockAlignment, start_lead_ns};
pub use division::{Division, DivisionError};
pub use launcher::{Launched, launched};
pub use liveness::LivenessCheck;
pub use ranks::Ranks;
pub use threads::{ThreadRank, threads};
pub use transport::{Alert, Lost, RankProcess, StartRank, Transport, WaitMode};
