//! Steady state of a load (docs/measure/measurement-rules.md R5): whether throughput had settled within the window.

use std::time::Duration;

use sharebench_model::units::{percent, show_rate};
use sharebench_model::{Check, Verdict};
use sharebench_plan::TransactionWork;
use sharebench_stats::{SteadyState, Unsteady, steady_state};

use crate::check::verdict::check;
use crate::record::seconds::Seconds;

/// The mean of a window may be off the level it settled at by as much as levels may differ that are one.
const OFF: f64 = 0.03;

/// Checks whether the window was steady; none where nothing was a window of a load.
pub(crate) fn steadiness(seconds: &Seconds, work: &TransactionWork) -> Option<Check> {
    if seconds.window_ns == 0 {
        return None;
    }
    let each_s = seconds.each_s as f64;
    let rates: Vec<f64> = seconds.bytes.iter().map(|bytes| *bytes as f64 / each_s).collect();
    let window = Window { seconds, work };
    let (verdict, mut detail) = match steady_state(&rates) {
        SteadyState::From { second, drift } => window.settled(&rates, second, drift),
        SteadyState::Not(why) => window.unsettled(&rates, why),
    };
    if seconds.window_ns > work.measure.as_nanos() as u64 {
        detail = format!("{detail} (extended: the first window was {:?})", work.measure);
    }
    Some(check("steady", verdict, detail))
}

/// A window of a load as its verdict is put into words.
struct Window<'a> {
    seconds: &'a Seconds,
    work: &'a TransactionWork,
}

impl Window<'_> {
    /// A window that reached a level; its mean is that level's only if little came before.
    fn settled(&self, rates: &[f64], from: usize, drift: f64) -> (Verdict, String) {
        let level = mean(&rates[from..]);
        let whole = mean(rates);
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
        // Levels that differ by less than 3 % are merged as one (docs/measure/measurement-rules.md 1.3), so the mean
        // is that level's.
        if off.abs() <= OFF {
            return (Verdict::Valid, detail);
        }
        let remedy = format!("a warm-up longer by {}, or --max-extensions", self.span(from));
        (Verdict::Warning, format!("{detail}: {remedy}"))
    }

    fn unsettled(&self, rates: &[f64], why: Unsteady) -> (Verdict, String) {
        let all = self.span(rates.len());
        let limit = "5 %";
        match why {
            Unsteady::TooShort => (Verdict::NotKnown, self.too_short()),
            Unsteady::Sparse => (
                Verdict::NotKnown,
                "nothing moved in most seconds: it has no level; more users, smaller transactions or less think time"
                    .into(),
            ),
            Unsteady::Noise { change, error, seconds } => (
                Verdict::NotKnown,
                format!(
                    "a change of {} within {all} can be chance (standard error {}, 5 % is the limit): about --measure {}s would decide",
                    signed(change),
                    percent(error.exp_m1(), 1),
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
                let before = mean(&rates[..second]);
                let now = mean(&rates[second..]);
                let before = show_rate(before);
                let now = show_rate(now);
                (
                    Verdict::Warning,
                    format!(
                        "not steady: {now} from {} of {all} on, {before} before; that is {} of the window, and 40 % \
                         and 30 s are needed: --max-extensions, or a longer --warm-up and --measure",
                        self.span(second),
                        percent(share, 1)
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

    fn too_short(&self) -> String {
        let needed = TransactionWork::SHORTEST_JUDGED;
        let window = Duration::from_nanos(self.seconds.window_ns);
        let doublings = (1..=TransactionWork::MAX_EXTENDED).find(|n| self.work.window(*n) >= needed);
        let extend = doublings.map_or_else(String::new, |n| format!(" or --max-extensions {n}"));
        format!("a window of {window:?} cannot be judged, {needed:?} can: --measure {needed:?}{extend}")
    }

    /// The length of N intervals, in seconds.
    fn span(&self, stretches: usize) -> String {
        format!("{} s", stretches as u64 * self.seconds.each_s)
    }

    fn whole_seconds(&self, stretches: f64) -> u64 {
        (stretches * self.seconds.each_s as f64).ceil() as u64
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
