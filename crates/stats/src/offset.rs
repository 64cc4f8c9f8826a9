//! Clocks of several hosts: offsets from four-stamp exchanges, and a start and a window they share.
//!
//! Source: Mills et al., RFC 5905, section 8; IOzone's "stonewall" for the common window.

/// One exchange between a coordinator and a host, in nanoseconds of two independent clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The coordinator sent the request, by its own clock.
    pub asked: i64,
    /// The host received the request, by its clock.
    pub received: i64,
    /// The host answered, by its clock.
    pub answered: i64,
    /// The coordinator received the answer, by its own clock.
    pub returned: i64,
}

impl Exchange {
    /// What to add to the coordinator's clock to get the host's, if both ways took equally long.
    pub fn offset_ns(self) -> i64 {
        // Halved last and in 128 bits: the clocks may be years apart.
        let sum = i128::from(self.received) - i128::from(self.asked) + i128::from(self.answered)
            - i128::from(self.returned);
        (sum / 2) as i64
    }

    /// Round-trip time without the time on the host.
    pub fn round_trip_ns(self) -> u64 {
        let away = i128::from(self.returned) - i128::from(self.asked);
        let held = i128::from(self.answered) - i128::from(self.received);
        (away - held).clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// The offset of a host's clock from the coordinator's clock, with its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Add it to the coordinator's clock to get the host's.
    pub offset_ns: i64,
    /// Error bound: half of the shortest round trip.
    pub error_ns: u64,
}

/// The offset by the exchange with the shortest round trip, whose ways can have differed least; none
/// without an exchange.
///
/// ```
/// use sharebench_stats::{Exchange, clock_offset};
/// // The host is 5 s ahead; 1 ms there, 3 ms back.
/// let exchange = Exchange { asked: 0, received: 5_001_000_000, answered: 5_002_000_000, returned: 5_000_000 };
/// let offset = clock_offset(&[exchange]).unwrap();
/// assert_eq!((offset.offset_ns, offset.error_ns), (4_999_000_000, 2_000_000));
/// ```
pub fn clock_offset(exchanges: &[Exchange]) -> Option<ClockOffset> {
    // The two ways of the shortest round trip can differ least, and their difference is the error.
    let best = exchanges.iter().min_by_key(|exchange| exchange.round_trip_ns())?;
    Some(ClockOffset { offset_ns: best.offset_ns(), error_ns: best.round_trip_ns().div_ceil(2) })
}

/// How long after now a common start must lie, given the longest round trip to any host: 2 s, or ten round
/// trips where that is more.
pub fn start_delay_ns(longest_round_trip_ns: u64) -> u64 {
    longest_round_trip_ns.saturating_mul(10).max(2_000_000_000)
}

/// The window in which all hosts were at work: from the last start (and its warm-up) to the first end, all by
/// the coordinator's clock. None when they were never all at work.
pub fn common_window(spans: &[(i64, i64)], warm_up_ns: i64) -> Option<(i64, i64)> {
    let from = spans.iter().map(|(start, _)| *start).max()?.saturating_add(warm_up_ns);
    let to = spans.iter().map(|(_, end)| *end).min()?;
    (from < to).then_some((from, to))
}

/// Difference between the first and the last of several starts, by the coordinator's clock.
pub fn start_skew_ns(starts: &[i64]) -> u64 {
    let (Some(first), Some(last)) = (starts.iter().min(), starts.iter().max()) else { return 0 };
    last.abs_diff(*first)
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    #[test]
    fn injected_offsets_come_back_within_half_a_round_trip() {
        let mut random = Random::new(19, 0);
        for offset in [-5_000_000_000_i64, 0, 5_000_000_000, i64::MAX / 4, -i64::MAX / 4] {
            let mut now = 1_000_000;
            let exchanges: Vec<Exchange> = (0..32)
                .map(|_| {
                    // 50 us each way, and up to 2 ms more on either.
                    let there = random.below(2_000_000) + 50_000;
                    let back = random.below(2_000_000) + 50_000;
                    let asked = now;
                    let arrived = asked + there.cast_signed();
                    let returned = arrived + 10_000 + back.cast_signed();
                    now = returned + 1_000;
                    Exchange {
                        asked,
                        received: arrived + offset,
                        answered: arrived + 10_000 + offset,
                        returned,
                    }
                })
                .collect();
            let found = clock_offset(&exchanges).unwrap();
            assert!(found.offset_ns.abs_diff(offset) <= found.error_ns, "{found:?} for {offset}");
            assert!(found.error_ns < 2_050_000, "{found:?}");
        }
        assert_eq!(clock_offset(&[]), None);
    }

    #[test]
    fn the_common_window_is_where_all_are_at_work() {
        let spans = [(0, 100), (10, 90), (5, 120)];
        assert_eq!(common_window(&spans, 20), Some((30, 90)));
        assert_eq!(common_window(&spans, 80), None);
        assert_eq!(common_window(&[], 0), None);
        assert_eq!((start_skew_ns(&[0, 10, 5]), start_skew_ns(&[])), (10, 0));
        assert_eq!(
            (start_delay_ns(1_000_000), start_delay_ns(1_000_000_000)),
            (2_000_000_000, 10_000_000_000)
        );
    }
}
