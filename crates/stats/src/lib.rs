//! Numbers in, numbers out: estimates that carry their interval, and the arithmetic of self-checks.
//!
//! Nothing here knows of runs, targets or files, and nothing is random without a seed. Ratios are
//! handled as natural logarithms, where faster and slower are symmetric.
//!
//! ```
//! use sharebench_stats::hodges_lehmann;
//! // ln(throughput A / throughput B) of eight interleaved pairs; one pair met a stall.
//! let pairs = [0.11, 0.12, 0.10, 0.13, 0.11, 0.12, -0.60, 0.12];
//! let typical = hodges_lehmann(&pairs, 0.95).unwrap();
//! assert!((typical.value - 0.115).abs() < 0.006);
//! assert!(typical.interval.is_some());
//! ```

mod attribution;
mod bootstrap;
mod cache_cliff;
mod capacity;
mod changes;
mod chi_squared;
mod clock;
mod dependent;
mod directory_break;
mod discovery;
mod estimate;
mod io500;
mod law_choice;
mod least_squares;
mod level_shifts;
mod little;
mod normal;
mod offset;
mod order_statistic;
mod outlier;
mod partition;
mod quantum;
mod queueing;
mod rank_sum;
mod ratio;
mod recent_level;
mod rectangle;
mod repetitions;
mod resampling;
mod run_series;
mod shape;
mod signed_rank;
mod single_run;
mod steady;
mod stopping;
mod student;
mod time_patterns;
mod trend;
mod usl;
mod winsorise;

pub use attribution::{Attribution, AttributionError, Confidence, Probes, Share, attribute, attribute_times};
pub use bootstrap::{Work, total_work_log_ratio};
pub use cache_cliff::{Cliff, SizeCurve, SizedRate, TwoStates};
pub use capacity::{Capacity, Forecast, ForecastError, fit_capacity, forecast};
pub use chi_squared::chi_squared_quantile;
pub use clock::{clock_allowance, widen_by_clock};
pub use dependent::{
    Batch, EffectiveSampleSize, RESOLVED_TAIL, dependent_quantile_ranks, effective_sample_size,
    is_lower_bound, is_resolved, pooled_sample_size,
};
pub use directory_break::{DirectoryBreak, DirectoryRate, directory_break};
pub use discovery::adjust_p_values;
pub use estimate::{Estimate, Interval};
pub use io500::{Io500Score, io500_score};
pub use law_choice::{SimpleCurve, better_than_the_law};
pub use level_shifts::{LevelShift, level_shifts};
pub use little::little_residual;
pub use normal::{normal_cdf, normal_quantile};
pub use offset::{ClockOffset, Exchange, clock_offset, common_window, start_delay_ns, start_skew_ns};
pub use order_statistic::{
    Ranks, median, median_of_sorted, median_or_zero, quantile_ranks, sample_median, upper_median,
};
pub use outlier::{LogTable, Outlier, outliers};
pub use partition::{
    CellInterval, CellSeries, Direction, Evidence, Headline, Map, MapAnswer, MapOptions, Part,
    PartitionedMap, TestGrid, map_mean, partition_map,
};
pub use quantum::{Quantum, TimeRange, clock_quanta};
pub use queueing::{knee, mean_value_analysis, repairman_throughput};
pub use rank_sum::shift;
pub use ratio::separate_log_ratio;
pub use recent_level::{ExpectedScatter, RecentLevel, is_noisier, outdated_runs, recent_levels};
pub use rectangle::Rectangle;
pub use repetitions::repetitions_needed;
pub use resampling::bootstrap_intervals;
pub use run_series::{
    RunSeries, detectable_fall, further_runs_like_the_last, further_runs_to_detect_half, last_run_shift,
    last_runs_alone, run_series_shifts, run_series_trends,
};
pub use shape::{Shape, ShapePoint, shapes};
pub use signed_rank::{
    SMALLEST_SAMPLE_95, attainable_level, hodges_lehmann, signed_rank_p_value, upper_tail,
};
pub use single_run::{
    SingleBreak, SingleCell, SingleRegion, SingleSurface, single_run_breaks, single_run_regions,
};
pub use steady::{SHORTEST_JUDGED, SteadyState, Unsteady, steady_state};
pub use stopping::{Decision, Repetition, StoppingRule, widest_half_width};
pub use student::student_quantile;
pub use time_patterns::{
    TimeOptions, TimePattern, TimePatternKind, TimePatterns, TimedSample, time_patterns,
};
pub use trend::Trend;
pub use usl::{ErrorScale, LoadPoint, Usl};
