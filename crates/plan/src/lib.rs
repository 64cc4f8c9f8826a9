//! Plans: what the user asked for, as typed, and what it means, resolved.
//!
//! Text or flags become a [`Plan`]; [`Plan::resolve`] fills defaults, checks everything at once and
//! lays out the schedule as a [`ResolvedPlan`]. Mistakes are collected and shown together.
//!
//! ```
//! use sharebench_plan::Plan;
//! let plan = Plan::parse("[[target]]\nurl = '/tmp'\n[sweep]\nfile_sizes = ['1MiB']\n").unwrap();
//! assert_eq!(plan.resolve().unwrap().targets[0].name, "tmp");
//! ```

mod mistake;
mod parse;
mod plan;
mod policies;
mod resolve;
mod resolved;
mod schedule;
mod test;
mod workload;
mod write;

pub use mistake::{Mistake, Mistakes};
pub use plan::{Depth, Load, Plan, PlannedTarget, Sweep, Verify};
pub use policies::Policies;
pub use resolved::{RecordWork, ResolvedPlan, StepPlan, TransactionWork, Work};
pub use test::{Pattern, Test};
pub use workload::{CopyDirection, DataFile, Transaction, WORKLOADS, Workload};
