//! The uncertainty that the resolution of a clock adds to a ratio of two times.

use crate::Estimate;

/// The half-width, in natural logarithm, that a clock of `resolution` adds to a ratio of two measured
/// times: `q/T_A + q/T_B`. All in one unit; infinite when a time is zero.
pub fn clock_allowance(resolution: f64, time_a: f64, time_b: f64) -> f64 {
    if resolution == 0.0 { 0.0 } else { resolution / time_a + resolution / time_b }
}

/// A log ratio whose interval includes the uncertainty of the clock.
#[must_use]
pub fn widen_by_clock(log_ratio: Estimate, resolution: f64, time_a: f64, time_b: f64) -> Estimate {
    log_ratio.widened(clock_allowance(resolution, time_a, time_b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    #[test]
    fn a_dos_timer_tick_drowns_a_short_copy() {
        // 1 MB in about one second on a clock of 54.925 ms: no better than 11 %.
        let measured = Estimate { value: 0.05, interval: Some(Interval::new(0.04, 0.06)), n: 8 };
        let widened = widen_by_clock(measured, 54.925, 1000.0, 1050.0).interval.unwrap();
        assert!((widened.low - (0.04 - 0.107_234)).abs() < 1e-6, "{widened:?}");
        assert!((widened.high - (0.06 + 0.107_234)).abs() < 1e-6);
    }
}
