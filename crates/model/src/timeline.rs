//! Results over time within a load's window, per interval, and outages.

use serde::{Deserialize, Serialize};

/// Length of an interval of a short window.
const SHORT_NS: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Windows up to this length have intervals of a tenth of a second.
const SHORT_WINDOW_NS: u64 = 60 * SECOND_NS;
/// Maximum number of intervals.
const MAX_INTERVALS: u64 = 4096;

/// The results of each interval of a window. The lists are allocated when the window begins, so that recording only adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// Length of each interval in nanoseconds; the window's end may cut the last one short.
    pub each_ns: u64,
    /// Application bytes transferred.
    pub bytes: Vec<u64>,
    /// Transactions that succeeded.
    pub transactions: Vec<u64>,
    /// Failures.
    pub failures: Vec<u64>,
    /// Time without a session, summed over all users, in nanoseconds.
    pub without_session_ns: Vec<u64>,
}

/// A part of a window in which users had no session and no transaction completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Start, in nanoseconds since the start of the window.
    pub from_ns: u64,
    /// End, in nanoseconds since the start of the window.
    pub to_ns: u64,
}

impl Timeline {
    /// An empty timeline for a window of that length.
    pub fn over(window_ns: u64) -> Self {
        let short = window_ns <= SHORT_WINDOW_NS;
        let each_ns =
            if short { SHORT_NS } else { window_ns.div_ceil(SECOND_NS).div_ceil(MAX_INTERVALS) * SECOND_NS };
        let none = vec![0; window_ns.div_ceil(each_ns) as usize];
        Self {
            each_ns,
            bytes: none.clone(),
            transactions: none.clone(),
            failures: none.clone(),
            without_session_ns: none,
        }
    }

    fn at(&self, since_ns: u64) -> usize {
        (since_ns / self.each_ns.max(1)) as usize
    }

    /// Records bytes transferred at `since_ns` after the start of the window.
    pub fn moved(&mut self, since_ns: u64, bytes: u64) {
        let at = self.at(since_ns);
        if let Some(sum) = self.bytes.get_mut(at) {
            *sum += bytes;
        }
    }

    /// Records a transaction that succeeded.
    pub fn ended(&mut self, since_ns: u64) {
        let at = self.at(since_ns);
        if let Some(count) = self.transactions.get_mut(at) {
            *count += 1;
        }
    }

    /// Records a failure.
    pub fn failed(&mut self, since_ns: u64) {
        let at = self.at(since_ns);
        if let Some(count) = self.failures.get_mut(at) {
            *count += 1;
        }
    }

    /// Records that a user had no session between two instants of the window.
    pub fn without_session(&mut self, mut from_ns: u64, to_ns: u64) {
        while from_ns < to_ns && self.each_ns > 0 {
            let at = self.at(from_ns);
            let end = to_ns.min((at as u64 + 1) * self.each_ns);
            let Some(sum) = self.without_session_ns.get_mut(at) else { return };
            *sum += end - from_ns;
            from_ns = end;
        }
    }

    /// Adds the counts of another thread for the same window.
    pub fn merge(&mut self, other: &Self) {
        if self.each_ns == 0 {
            self.clone_from(other);
            return;
        }
        let lists = [
            (&mut self.bytes, &other.bytes),
            (&mut self.transactions, &other.transactions),
            (&mut self.failures, &other.failures),
            (&mut self.without_session_ns, &other.without_session_ns),
        ];
        for (sums, more) in lists {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum += more;
            }
        }
    }

    /// The outages: intervals in which users had no session and no transaction completed, in order.
    pub fn outages(&self) -> Vec<Outage> {
        let mut found: Vec<Outage> = Vec::new();
        for (at, (ended, without)) in self.transactions.iter().zip(&self.without_session_ns).enumerate() {
            if *ended > 0 || *without == 0 {
                continue;
            }
            let from_ns = at as u64 * self.each_ns;
            let to_ns = (at as u64 + 1) * self.each_ns;
            match found.last_mut() {
                Some(last) if last.to_ns == from_ns => last.to_ns = to_ns,
                _ => found.push(Outage { from_ns, to_ns }),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_where_users_had_no_session_and_nothing_ended() {
        let mut timeline = Timeline::over(2 * SECOND_NS);
        assert_eq!((timeline.each_ns, timeline.transactions.len()), (SHORT_NS, 20));
        for tenth in (0..7).chain(15..20) {
            timeline.ended(tenth * SHORT_NS + 5);
        }
        timeline.failed(7 * SHORT_NS);
        timeline.without_session(7 * SHORT_NS + SHORT_NS / 2, 15 * SHORT_NS + 1);
        assert_eq!(timeline.without_session_ns[7..9], [SHORT_NS / 2, SHORT_NS]);
        assert_eq!(timeline.without_session_ns.iter().sum::<u64>(), 7 * SHORT_NS + SHORT_NS / 2 + 1);
        assert_eq!(timeline.outages(), [Outage { from_ns: 7 * SHORT_NS, to_ns: 15 * SHORT_NS }]);
        let mut both = Timeline::default();
        both.merge(&timeline);
        both.merge(&timeline);
        assert_eq!((both.failures[7], both.outages()), (2, timeline.outages()));
    }

    #[test]
    fn times_after_the_window_are_ignored_and_long_windows_need_no_more_memory() {
        let mut timeline = Timeline::over(SECOND_NS);
        timeline.moved(SECOND_NS, 5);
        timeline.without_session(9 * SHORT_NS, 3 * SECOND_NS);
        assert_eq!((timeline.bytes.iter().sum::<u64>(), timeline.without_session_ns[9]), (0, SHORT_NS));
        assert!(Timeline::over(86_400 * SECOND_NS).bytes.len() <= MAX_INTERVALS as usize);
        assert_eq!(Timeline::over(90 * SECOND_NS).each_ns, SECOND_NS);
        assert!(Timeline::default().outages().is_empty());
    }
}
