//! Steady state of a load (docs/measurement-rules.md R5): what moved in each second of its window, and whether that
//! had settled.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sharebench_model::units::show_rate;
use sharebench_model::{Check, Verdict};
use sharebench_plan::TransactionWork;
use sharebench_stats::{SteadyState, Unsteady, steady_state};

use crate::check::{check, percent};
use crate::virtual_user::Window;

const SECOND_NS: u64 = 1_000_000_000;
/// Most stretches of a window that are kept: of one longer than this many seconds, each is some seconds long.
const MOST: u64 = 4096;
/// The mean of a window may be off the level it settled at by as much as levels may differ that are one.
const OFF: f64 = 0.03;

/// Bytes by the second of the window, or by stretches of a few seconds. Room is made when a window begins, so that
/// users do nothing but add.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    window_ns: u64,
    each_s: u64,
    bytes: Vec<u64>,
}

impl Seconds {
    /// Room for a window; what is left of it behind the last whole stretch is not judged.
    pub fn over(window: Window) -> Self {
        let window_ns = window.end - window.measure;
        let whole = window_ns / SECOND_NS;
        let each_s = whole.div_ceil(MOST).max(1);
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

    /// Whether the window was steady, with the arithmetic; none where nothing was a window of a load.
    pub fn check(&self, work: &TransactionWork) -> Option<Check> {
        if self.window_ns == 0 {
            return None;
        }
        let rates: Vec<f64> = self.bytes.iter().map(|bytes| *bytes as f64 / self.each_s as f64).collect();
        let (verdict, mut detail) = match steady_state(&rates) {
            SteadyState::From { second, drift } => self.settled(&rates, second, drift),
            SteadyState::Not(why) => self.unsettled(&rates, why, work),
        };
        if self.window_ns > work.measure.as_nanos() as u64 {
            detail = format!("{detail} (the step went on: its first window had {:?})", work.measure);
        }
        Some(check("steady", verdict, detail))
    }

    /// A window that reached a level; its mean is that level's only if little came before.
    fn settled(&self, rates: &[f64], from: usize, drift: f64) -> (Verdict, String) {
        let (level, whole) = (mean(&rates[from..]), mean(rates));
        let trend = format!("at {}, trend {}", show_rate(level), signed(drift));
        if from == 0 {
            return (
                Verdict::Valid,
                format!("steady over the window of {}, {trend}", self.span(rates.len())),
            );
        }
        let off = whole / level - 1.0;
        let since = format!("steady from {} of {} on {trend}", self.span(from), self.span(rates.len()));
        let detail = format!("{since}; the mean of the whole window is off that level by {}", signed(off));
        if off.abs() <= OFF {
            return (Verdict::Valid, detail);
        }
        let remedy = format!("a warm-up longer by {}, or --max-extensions", self.span(from));
        (Verdict::Warning, format!("{detail}: {remedy}"))
    }

    fn unsettled(&self, rates: &[f64], why: Unsteady, work: &TransactionWork) -> (Verdict, String) {
        let (all, limit) = (self.span(rates.len()), "5 %");
        match why {
            Unsteady::TooShort => (Verdict::NotKnown, self.too_short(work)),
            Unsteady::Sparse => (
                Verdict::NotKnown,
                "nothing moved in most seconds: it has no level; more users, smaller transactions or less think time"
                    .into(),
            ),
            Unsteady::Noise { change, error, seconds } => (
                Verdict::NotKnown,
                format!(
                    "a change of {} within {all} can be chance (standard error {}, 5 % is the limit): about --measure {}s would tell",
                    signed(change),
                    percent(error.exp_m1()),
                    self.whole_seconds(seconds)
                ),
            ),
            Unsteady::Gap { from, to } => (
                Verdict::Warning,
                format!(
                    "not steady: nothing moved from {} to {} of {all}: a stall decides the mean; find its cause",
                    self.span(from),
                    self.span(to)
                ),
            ),
            Unsteady::RecentChange { second, share } => {
                let (before, now) = (mean(&rates[..second]), mean(&rates[second..]));
                let (before, now) = (show_rate(before), show_rate(now));
                (
                    Verdict::Warning,
                    format!(
                        "not steady: {now} from {} of {all} on, {before} before; that is {} of the window, and 40 % \
                         and 30 s are needed: --max-extensions, or a longer --warm-up and --measure",
                        self.span(second),
                        percent(share)
                    ),
                )
            }
            Unsteady::Drift { second, drift } => (
                Verdict::Warning,
                format!(
                    "not steady: from {} of {all} on the level changed by {}, {limit} is allowed: the mean is no level; \
                     --max-extensions, or a longer --warm-up and --measure",
                    self.span(second),
                    signed(drift)
                ),
            ),
        }
    }

    fn too_short(&self, work: &TransactionWork) -> String {
        let needed = TransactionWork::SHORTEST_JUDGED;
        let window = Duration::from_nanos(self.window_ns);
        let doublings = (1..=TransactionWork::MAX_EXTENDED).find(|n| work.window(*n) >= needed);
        let extend = doublings.map_or_else(String::new, |n| format!(" or --max-extensions {n}"));
        format!("a window of {window:?} cannot be judged, {needed:?} can: --measure {needed:?}{extend}")
    }

    /// So many stretches, in seconds.
    fn span(&self, stretches: usize) -> String {
        format!("{} s", stretches as u64 * self.each_s)
    }

    fn whole_seconds(&self, stretches: f64) -> u64 {
        (stretches * self.each_s as f64).ceil() as u64
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(seconds: u64) -> Seconds {
        let (start, measure) = (0, 7 * SECOND_NS);
        Seconds::over(Window { start, measure, end: measure + seconds * SECOND_NS + SECOND_NS / 2 })
    }

    #[test]
    fn bytes_stand_in_their_second_and_those_of_several_threads_add_up() {
        let (mut one, mut other) = (over(3), over(3));
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
