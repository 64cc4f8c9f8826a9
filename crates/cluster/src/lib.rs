//! Several processes that measure as one: ranks, as MPI calls them.
//!
//! [`Transport`] is what carries bytes between ranks: MPI (crate `sharebench-mpi`), or threads of one process
//! ([`threads`]). [`Ranks`] says everything else on top of it, and the same on both: agreement, division of users,
//! clocks, reduction along a tree. Rank 0 leads.
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
mod cost;
mod division;
mod launcher;
mod ranks;
mod roll_call;
mod threads;
mod transport;
mod tree;

pub use agreement::{Card, Complaint, Discord, unlike};
pub use clocks::{Aligned, start_lead_ns};
pub use cost::{Costs, Load, measure as measure_costs, modelled};
pub use division::{Division, DivisionError};
pub use launcher::{Launched, launched};
pub use ranks::Ranks;
pub use roll_call::RollCall;
pub use threads::{ThreadRank, threads};
pub use transport::{Alert, Lost, Patience, Transport};
