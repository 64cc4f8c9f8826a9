//! The kernel's own counters of lost time: steal and pressure.

use crate::system::lost_time;

/// The kernel's counters of lost time, which only increase; none where the system does not report them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Ticks of all processors: those stolen by the hypervisor, and all.
    ticks: Option<(u64, u64)>,
    /// Microseconds in which some task waited for a processor.
    waiting_us: Option<u64>,
}

impl Counters {
    /// Reads what the system reports.
    pub fn read() -> Self {
        let [stat, pressure] = lost_time();
        Self { ticks: stat.as_deref().and_then(ticks), waiting_us: pressure.as_deref().and_then(waiting_us) }
    }

    /// Shares of stolen and of waited time since `earlier`, `span_ns` ago.
    pub fn since(&self, earlier: &Self, span_ns: u64) -> (Option<f64>, Option<f64>) {
        let steal = self.ticks.zip(earlier.ticks).and_then(|((stolen, all), (stolen_then, all_then))| {
            let all = all.checked_sub(all_then).filter(|all| *all > 0)?;
            Some(stolen.checked_sub(stolen_then)? as f64 / all as f64)
        });
        let waiting = self.waiting_us.zip(earlier.waiting_us).and_then(|(now, then)| {
            (span_ns > 0).then_some(now.checked_sub(then)? as f64 * 1e3 / span_ns as f64)
        });
        // The kernel books in pieces: a share may come out a little above the whole.
        (steal, waiting.map(|share| share.min(1.0)))
    }
}

/// The line of all processors, proc(5): user nice system idle iowait irq softirq steal.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    // Guest time, the field after steal, is part of user time.
    Some((*fields.get(7)?, fields.iter().take(8).sum()))
}

/// Documentation/accounting/psi.rst: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
fn waiting_us(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  59569 0 9352 1090722 549 0 71 53 40 2\ncpu0 1 2 3 4 5 6 7 8\n";
    const PRESSURE: &str = "some avg10=22.55 avg60=21.49 avg300=13.40 total=73300706\nfull total=0\n";

    fn counters(stat: &str, pressure: &str) -> Counters {
        Counters { ticks: ticks(stat), waiting_us: waiting_us(pressure) }
    }

    #[test]
    fn shares_are_differences_over_the_span() {
        let then = counters(STAT, PRESSURE);
        assert_eq!(then.ticks, Some((53, 59569 + 9352 + 1_090_722 + 549 + 71 + 53)));
        let now = counters("cpu 59669 0 9352 1090722 549 0 71 63", "some total=73400706");
        let (steal, waiting) = now.since(&then, 1_000_000_000);
        assert!((steal.unwrap() - 10.0 / 110.0).abs() < 1e-12);
        assert!((waiting.unwrap() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_there_is_not_known() {
        let nothing = counters("", "");
        assert_eq!(nothing, counters("intr 5\ncpu 1 2 3", "full total=5"));
        assert_eq!(nothing.since(&nothing, 5), (None, None));
        let one = counters(STAT, PRESSURE);
        assert_eq!(one.since(&one, 0), (None, None), "no time has passed");
        assert_eq!(counters("cpu 0 0 0 0 0 0 0 0", "some total=1").since(&one, 9), (None, None), "set back");
    }
}
