//! How many repetitions an answer would take.

use crate::SMALLEST_SAMPLE_95;

/// Repetitions until an interval of `half_width` after `n` shrinks to `wanted`: `n (half_width / wanted)^2`.
///
/// At least one more than `n`; none when `wanted` is not positive, since no number of repetitions
/// separates an effect from the very edge it sits on.
pub fn repetitions_needed(n: usize, half_width: f64, wanted: f64) -> Option<usize> {
    if wanted <= 0.0 || !half_width.is_finite() {
        return None;
    }
    let needed = (n as f64 * (half_width / wanted).powi(2)).ceil();
    Some((needed as usize).max(n + 1).max(SMALLEST_SAMPLE_95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_width_takes_four_times_the_runs() {
        assert_eq!(repetitions_needed(10, 0.04, 0.02), Some(40));
        assert_eq!(repetitions_needed(10, 0.02, 0.02), Some(11));
        assert_eq!(repetitions_needed(2, 0.02, 0.02), Some(6));
        assert_eq!(repetitions_needed(10, 0.02, 0.0), None);
    }
}
