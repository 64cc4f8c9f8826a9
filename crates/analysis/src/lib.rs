//! Finished runs in; comparisons, findings and their sentences out.
//!
//! An analysis has four stages. Each takes the earlier ones by reference and returns a struct of its own, so that a
//! stage cannot use what is not computed yet:
//!
//! | stage | folder | returns |
//! |---|---|---|
//! | align | `align` | `Aligned`: systems, steps by their coordinates, sections, which systems are compared |
//! | estimate | `estimate`, with `cache` and `load` | `Estimated`: outcomes and ratios with intervals, per position |
//! | judge | `judge` | `Judged`: verdicts, parts of maps, contradictions, trust |
//! | write | `text` | `Text`: answer, findings and what is not resolved, as sentences |
//!
//! [`analyse`] runs the stages and assembles [`Analysis`], which is plain data from `types`. Folders import only from
//! folders of earlier stages; all of them import `types`. [`series()`] compares many runs of one plan.
//!
//! A ratio is *faster* only if its whole interval exceeds the tolerance of 2 %, *about the same* only if the whole
//! interval lies within it, and *not resolved* otherwise. Repetitions are paired where the run interleaved its targets.
//! Nothing here reads a store, prints, or changes a run.
//!
//! ```no_run
//! # fn from_store() -> sharebench_analysis::RunData { unimplemented!() }
//! let analysis = sharebench_analysis::analyse(&[from_store()], &sharebench_analysis::Options::default());
//! for sentence in &analysis.answer {
//!     // "nfs is 12 % faster than smb [9, 15]: ..."
//!     assert!(!sentence.text.is_empty());
//! }
//! ```

mod align;
mod analyse;
mod cache;
mod estimate;
mod gate;
mod judge;
mod load;
mod run_scatter;
mod series;
mod text;
mod types;

pub use analyse::analyse;
pub use cache::shares::{bound_cache_shares, read_cache_shares, write_cache_shares};
pub use estimate::ratio::{MAX_USEFUL_REPETITIONS, declared_equal_spread};
pub use gate::calibration::gate_calibration;
pub use gate::gate;
pub use run_scatter::run_scatter;
pub use series::series;
pub use sharebench_stats::{Estimate, Interval};
pub use text::claims::{SIX_REPETITIONS, show_factor, show_percent};
pub use types::*;
