//! Plans: what the user wrote (typed), and what it means (resolved).
//!
//! Text or flags become a [`Plan`]; [`Plan::resolve`] fills defaults, checks everything at once and
//! lays out the schedule as a [`ResolvedPlan`]. Mistakes are collected and shown together.
//!
//! ```
//! use sharebench_plan::Plan;
//! let plan = Plan::parse("[[target]]\nurl = '/tmp'\n[sweep]\nfile_sizes = ['1MiB']\n").unwrap();
//! assert_eq!(plan.resolve().unwrap().targets[0].name, "tmp");
//! ```

mod auto;
mod bounds;
mod cache_probes;
mod mistake;
mod pace;
mod parse;
mod parse_load;
mod parse_sweep;
mod plan;
mod policies;
mod range;
mod record_work;
mod repeat;
mod resolve;
mod resolved;
mod schedule;
mod search;
mod sweep;
mod test;
mod workload;
mod write;

pub use auto::Auto;
pub use bounds::{Bounds, MAX_WALL};
pub use cache_probes::{Bypass, CacheProbePlan, CacheProbes, Cold};
pub use mistake::{Mistake, Mistakes};
pub use pace::{Arrivals, Pace, Think};
pub use plan::{Depth, Load, Plan, PlannedTarget, Sweep, Verify};
pub use policies::Policies;
pub use range::{Countable, Values};
pub use record_work::{Grid, RecordWork};
pub use repeat::{Precision, Repeat};
pub use resolved::{ResolvedPlan, StepPlan, TransactionWork, Work};
pub use schedule::{Cell, Schedule};
pub use search::{Search, Slo};
pub use test::{Access, Direction, Pattern, Start, Test};
pub use workload::{
    Call, DataFile, DataKind, DataSet, DataType, Disposition, Expected, FileClass, Given, LeftOut, Loadfile,
    LoadfileLine, Operation, Owner, Place, Preset, Requests, Sizes, Times, Transaction, TransactionOrder,
    TypedTransaction, TypedWorkload, WORKLOADS, Workload, matches_mask,
};
