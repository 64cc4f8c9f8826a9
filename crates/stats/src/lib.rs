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

mod bootstrap;
mod clock;
mod discovery;
mod estimate;
mod little;
mod normal;
mod offset;
mod order_statistic;
mod ratio;
mod repetitions;
mod signed_rank;

pub use bootstrap::{Work, total_work_log_ratio};
pub use clock::{clock_allowance, widen_by_clock};
pub use discovery::adjust_p_values;
pub use estimate::{Estimate, Interval};
pub use little::little_residual;
pub use normal::{normal_cdf, normal_quantile};
pub use offset::{ClockOffset, Exchange, clock_offset, common_window, start_delay_ns, start_skew_ns};
pub use order_statistic::{Ranks, median, quantile_ranks, sample_median};
pub use ratio::separate_log_ratio;
pub use repetitions::repetitions_needed;
pub use signed_rank::{
    SMALLEST_SAMPLE_95, attainable_level, hodges_lehmann, signed_rank_p_value, upper_tail,
};
