//! Bytes of a load by the second in which they moved: what steady state is judged by (docs/measure/measurement-rules.md R5).

use serde::{Deserialize, Serialize};

use crate::time::window::Window;

const SECOND_NS: u64 = 1_000_000_000;
/// Most stretches of a window that are kept: of one longer than this many seconds, each is some seconds long.
const MAX_SECONDS: u64 = 4096;

/// Bytes by the second of the window, or by intervals of a few seconds. The list is allocated when a window begins, so that
/// users do nothing but add.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub window_ns: u64,
    /// Seconds in one entry of `bytes`.
    pub each_s: u64,
    pub bytes: Vec<u64>,
}

impl Seconds {
    /// An empty record of a window. The part after the last complete interval is not judged.
    pub fn over(window: Window) -> Self {
        let window_ns = window.end - window.measure;
        let whole = window_ns / SECOND_NS;
        let each_s = whole.div_ceil(MAX_SECONDS).max(1);
        Self { window_ns, each_s, bytes: vec![0; (whole / each_s) as usize] }
    }

    /// Adds bytes that had moved `since` the window's beginning, in nanoseconds.
    pub fn record(&mut self, since: u64, bytes: u64) {
        let at = since / (self.each_s.max(1) * SECOND_NS);
        if let Some(second) = self.bytes.get_mut(at as usize) {
            *second += bytes;
        }
    }

    /// Adds another thread's bytes in the same window.
    pub fn merge(&mut self, other: &Self) {
        if self.bytes.is_empty() {
            self.clone_from(other);
            return;
        }
        for (second, bytes) in self.bytes.iter_mut().zip(&other.bytes) {
            *second += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_plan::TransactionWork;

    use super::*;

    fn over(seconds: u64) -> Seconds {
        let start = 0;
        let measure = 7 * SECOND_NS;
        Seconds::over(Window { start, measure, end: measure + seconds * SECOND_NS + SECOND_NS / 2 })
    }

    #[test]
    fn bytes_stand_in_their_second_and_those_of_several_threads_add_up() {
        let mut one = over(3);
        let mut other = over(3);
        for (since, bytes) in [(0, 1), (999_999_999, 2), (1_000_000_000, 4), (3_200_000_000, 8)] {
            one.record(since, bytes);
        }
        assert_eq!(one.bytes, [3, 4, 0], "half a second is no second");
        other.record(2_500_000_000, 16);
        one.merge(&other);
        assert_eq!(one.bytes, [3, 4, 16]);
        let mut empty = Seconds::default();
        empty.record(1, 1);
        empty.merge(&one);
        assert_eq!(empty.bytes, one.bytes);
    }

    #[test]
    fn a_day_is_kept_in_no_more_room_than_an_hour() {
        let mut day = over(86_400);
        assert_eq!((day.bytes.len(), day.each_s), (3927, 22));
        day.record(43 * SECOND_NS, 5);
        assert_eq!(day.bytes[..3], [0, 5, 0]);
    }

    #[test]
    fn the_plan_knows_how_long_a_window_must_be() {
        let seconds = TransactionWork::SHORTEST_JUDGED.as_secs() as usize;
        assert_eq!(seconds, sharebench_stats::SHORTEST_JUDGED);
    }
}
