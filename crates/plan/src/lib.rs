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
//!
//! Folders, from the bottom up: `values` (fields), `workload` (transactions and data sets), `plan` (as typed),
//! `resolved` (as the engine runs it), `resolve` (from typed to resolved), `text` (TOML), `preset` (built-in plans).

mod plan;
mod preset;
mod resolve;
mod resolved;
mod target_names;
mod text;
mod values;
mod workload;

pub use plan::{Depth, Io500, Load, MetadataAxes, Plan, PlannedTarget, Sweep, Verify};
pub use preset::{PRESETS, Preset};
pub use resolved::{
    Bounds, CacheProbePlan, Cell, DirectoryKey, FileParts, Grid, MAX_WALL, MetadataWork, RecordWork,
    ResolvedPlan, SkippedCells, SlowestTarget, StepOrder, StepPlan, TransactionWork, Work,
};
pub use text::named_targets::NamedTarget;
pub use values::{
    Access, Arrivals, Auto, Bypass, CacheProbes, Cold, Countable, Direction, DirectoryLayout, EntryState,
    Included, MetadataGroup, MetadataPreset, MetadataTest, Mistake, Mistakes, Pace, Pattern, Policies,
    Precision, Repeat, Scale, Search, ServerCacheState, Slo, Start, SweepPreset, SweepTest, SweepTestName,
    Test, Think, TypedTarget, Values, WantedObjective, nearest, record_tests, target_url,
    url_of_typed_target,
};
pub use workload::{
    Call, DataFile, DataKind, DataSet, DataType, Disposition, Expected, FileClass, Given, LeftOut, Loadfile,
    LoadfileLine, LockRange, Operation, Owner, RequestPattern, Requests, Sizes, Times, Transaction,
    TransactionOrder, TypedTransaction, TypedUnit, TypedWorkload, Unit, Workload, matches_mask,
};
