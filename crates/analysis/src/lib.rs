//! Finished runs in, comparisons and findings in words out.
//!
//! Steps are aligned by their coordinates, paired by repetition where the run interleaved its targets,
//! and judged by intervals: *faster* only when the interval excludes the tolerance of 2 %, *about the
//! same* only when it lies inside, otherwise *not resolved*. Nothing here reads a store, prints, or
//! changes a run; [`Analysis`] is plain data, and what a report shows is what it holds.
//!
//! ```no_run
//! # fn from_store() -> sharebench_analysis::RunData { unimplemented!() }
//! let analysis = sharebench_analysis::analyse(&[from_store()], &sharebench_analysis::Options::default());
//! for sentence in &analysis.answer {
//!     // "nfs is 12 % faster than smb [9, 15]: ..."
//!     assert!(!sentence.text.is_empty());
//! }
//! ```

mod access;
mod analysis;
mod comparison;
mod crossing;
mod findings;
mod input;
mod load;
mod load_findings;
mod outcome;
mod pairing;
mod parallel;
mod percentile;
mod precision;
mod ratio;
mod section;
mod self_checks;
mod sentence;
mod summary;
mod system;
mod trust;
mod wording;

pub use access::{Access, Buffering};
pub use analysis::{Analysis, LeftOut, Method, Unaligned, analyse};
pub use comparison::{Comparison, Overall};
pub use crossing::Crossing;
pub use input::{CLOCK_RESOLUTION_FACT, Options, RunData};
pub use load::{CapacityReport, LoadOutcome, PartOutcome, StressPoint};
pub use outcome::{Curve, Outcome};
pub use percentile::Percentile;
pub use ratio::{Evidence, Ratio, SingleRun, Standing, declared_equal_spread};
pub use section::{RateUnit, Row, Section, View};
pub use self_checks::{CheckSummary, ThinnedCell};
pub use sentence::{Sentence, Tone};
pub use sharebench_stats::{Estimate, Interval};
pub use summary::{CachedCells, Counts, Felt, Summary};
pub use system::System;
pub use trust::{Light, TrustLine};
pub use wording::show_percent;
