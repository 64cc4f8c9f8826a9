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
mod alignment;
mod analysis;
mod answer;
mod band_words;
mod bands;
mod behind;
mod cache_words;
mod clocks;
mod comparison;
mod contradictions;
mod crossing;
mod curves;
mod effects;
mod findings;
mod input;
mod load;
mod load_findings;
mod load_lines;
mod outcome;
mod pairing;
mod parallel;
mod percentile;
mod precision;
mod ranks;
mod ratio;
mod regions;
mod section;
mod self_checks;
mod sentence;
mod series;
mod settings;
mod span;
mod summary;
mod system;
mod timeline;
mod trust;
mod weigh;
mod where_words;
mod wording;

pub use access::{Access, Buffering};
pub use alignment::Unmatched;
pub use analysis::{Analysis, LeftOut, Method, Unaligned, analyse};
pub use bands::{Band, Bands, Counted, Grade, bound_bands, read_bands, write_bands};
pub use behind::Seen;
pub use comparison::{Comparison, Overall};
pub use crossing::Crossing;
pub use input::{CLOCK_RESOLUTION_FACT, Options, RunData};
pub use load::{CapacityReport, LoadOutcome, PartOutcome, StressPoint};
pub use load_lines::{LoadLines, ResponseLimit};
pub use outcome::{Curve, Outcome};
pub use percentile::Percentile;
pub use ranks::{RankLine, RankTable, Unlike};
pub use ratio::{Evidence, Ratio, SingleRun, Standing, declared_equal_spread};
pub use regions::{Differences, DifferingRegion, RatioBreak, Scanned};
pub use section::{RateUnit, Row, Section, View};
pub use self_checks::{CheckSummary, ThinnedCell};
pub use sentence::{RegionReference, Sentence, Tone};
pub use series::{LineChange, Series, SeriesChange, SeriesError, SeriesLine, SeriesRun, series};
pub use settings::SettingChange;
pub use sharebench_stats::{Estimate, Interval};
pub use span::Span;
pub use summary::{CachedCells, Counts, Felt, StorageApart, Summary};
pub use system::System;
pub use timeline::{Stretch, Timeline};
pub use trust::{Light, TrustLine};
pub use weigh::{Weighed, Weight, Weights};
pub use wording::show_percent;
