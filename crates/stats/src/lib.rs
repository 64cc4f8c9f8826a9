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
mod breaks;
mod cache_cliff;
mod capacity;
mod changes;
mod clock;
mod dependent;
mod directory_break;
mod discovery;
mod estimate;
mod io500;
mod least_squares;
mod level_shifts;
mod little;
mod normal;
mod offset;
mod order_statistic;
mod partition;
mod quantum;
mod queueing;
mod rank_sum;
mod ratio;
mod recent_level;
mod regions;
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
pub use breaks::{Break, break_points};
pub use cache_cliff::{Cliff, SizeCurve, SizedRate, TwoStates};
pub use capacity::{Capacity, Forecast, ForecastError, fit_capacity, forecast};
pub use changes::change_points;
pub use clock::{clock_allowance, widen_by_clock};
pub use dependent::{
    Batch, EffectiveSampleSize, RESOLVED_TAIL, dependent_quantile_ranks, effective_sample_size,
    is_lower_bound, is_resolved, pooled_sample_size,
};
pub use directory_break::{DirectoryBreak, DirectoryRate, directory_break};
pub use discovery::adjust_p_values;
pub use estimate::{Estimate, Interval};
pub use io500::{Io500Score, io500_score};
pub use level_shifts::{LevelShift, level_shifts};
pub use little::little_residual;
pub use normal::{normal_cdf, normal_quantile};
pub use offset::{ClockOffset, Exchange, clock_offset, common_window, start_delay_ns, start_skew_ns};
pub use order_statistic::{
    Ranks, median, median_of_sorted, median_or_zero, quantile_ranks, sample_median, upper_median,
};
pub use partition::{
    CellInterval, CellSeries, Direction, Evidence, Headline, Map, MapAnswer, MapOptions, Part,
    PartitionedMap, TestGrid, map_mean, partition_map,
};
pub use quantum::{Quantum, TimeRange, clock_quanta};
pub use queueing::{knee, mean_value_analysis, repairman_throughput};
pub use rank_sum::shift;
pub use ratio::separate_log_ratio;
pub use recent_level::{ExpectedScatter, RecentLevel, recent_levels};
pub use regions::{Rectangle, Region, SMALLEST_SWEEPS, Surface, differing_regions, differing_regions_among};
pub use repetitions::repetitions_needed;
pub use resampling::bootstrap_intervals;
pub use run_series::{
    RunSeries, detectable_fall, further_runs_to_detect_half, last_run_shift, run_series_shifts,
    run_series_trends,
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
