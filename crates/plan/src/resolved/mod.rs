//! Plans as the engine runs them: complete, valid, and laid out in steps.

mod bounds;
mod cache_probe_plan;
mod metadata_work;
mod plan;
mod record_work;
mod skipped_cells;
mod step_order;
mod wall_time;

pub use bounds::{Bounds, MAX_WALL};
pub use cache_probe_plan::CacheProbePlan;
pub use metadata_work::{DirectoryKey, MetadataWork};
pub use plan::{Cell, ResolvedPlan, StepPlan, TransactionWork, Work};
pub use record_work::{FileParts, Grid, RecordWork};
pub use skipped_cells::SkippedCells;
pub use step_order::StepOrder;
pub use wall_time::SlowestTarget;
