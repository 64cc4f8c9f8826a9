//! The plain data of an analysis: what a report shows, and what the stages pass on.

mod access;
mod analysis;
mod cache_curve;
mod cache_shares;
mod comparison;
mod conditions;
mod differences;
mod directories;
mod gate;
mod input;
mod io500;
mod load;
mod load_figures;
mod mechanism;
mod outcome;
mod percentile;
mod ranks;
mod ratio;
mod section;
mod self_checks;
mod sentence;
mod series;
mod settings;
pub(crate) mod span;
mod storage_evidence;
mod summary;
mod system;
mod time;
mod timeline;
mod trust;
mod verdict;
mod weights;
mod wire_traffic;

pub use access::{Access, Buffering};
pub use analysis::{Analysis, LeftOut, Method, Unaligned, Unmatched};
pub use cache_curve::CacheCurve;
pub use cache_shares::{CacheShares, CountedBytes, Grade, ShareRange, TimedPasses};
pub use comparison::{Comparison, Overall};
pub use conditions::{Condition, ConditionValue, UnlikeCondition};
pub use differences::{Differences, DifferingPart, PartEvidence, Scanned, SingleRunBreak, SingleRunRegion};
pub use directories::{DirectoryFact, DirectoryFinding, NameCacheEvidence, RateRatio};
pub use gate::{GateCalibration, GateLine, GateOptions, GateOutcome, GateVerdict};
pub use input::{CLOCK_RESOLUTION_FACT, Options, RunData, RunScatter};
pub use io500::{Io500Estimate, Io500Finding};
pub(crate) use load::RateLimit;
pub use load::{
    CallsPerTransaction, CapacityReport, LoadLines, LoadOutcome, LoadSupport, PartOutcome, ResponseLimit,
    Scalability, StressPoint, UnitOutcome, UnitShare,
};
pub use load_figures::{LoadComparison, LoadFigure, LoadLevel, LoadStepRatio};
pub use mechanism::{Mechanism, MechanismGuess};
pub use outcome::{ClientCpuCost, Curve, FlushedRates, Outcome, WirePerOperation};
pub use percentile::Percentile;
pub use ranks::{RankDeviation, RankSummary, RankTable};
pub use ratio::{Obstacle, Pairing, Ratio, RatioVerdict, SingleRun};
pub use section::{RateUnit, Row, Section, View};
pub use self_checks::{CheckSummary, ThinnedCell};
pub use sentence::{PartReference, Sentence, Tone};
pub use series::{LineChange, Series, SeriesChange, SeriesError, SeriesLine, SeriesRun, SeriesTrend};
pub use settings::SettingChange;
pub use span::Span;
pub use storage_evidence::StorageEvidence;
pub use summary::{
    CachedCells, DIFFERENCE_LEVEL, MeanRatio, STALL_GAP, StalledCells, Summary, UnequalStorage, VerdictCounts,
};
pub use system::System;
pub use time::{TimeFinding, TimeFindingKind, TimeFindings, TimeOrigin, TotalWorkEffect};
pub use timeline::{SystemTimeline, TimelineSegment};
pub use trust::{Status, TrustLine};
pub use verdict::{
    ComparisonOutcome, ComparisonVerdict, Confidence, FULL_REPETITIONS, Gate, InconclusiveReason, Objection,
    ObjectionKind, Requirements,
};
pub use weights::{Weight, WeightedComparison, Weights};
pub use wire_traffic::WireTraffic;
