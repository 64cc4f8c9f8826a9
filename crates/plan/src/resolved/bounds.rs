//! The cost of a plan before any target is contacted: steps, bytes, time.

use std::time::Duration;

use super::plan::{Cell, ResolvedPlan, Work};
use crate::values::Search;

/// A cell ends after this many times its sample, however little of that was busy, so that creating and
/// removing files between passes does not take for ever.
pub const MAX_WALL: u32 = 5;

/// From what is certain to what is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<T> {
    /// At least so much.
    pub least: T,
    /// At most so much.
    pub most: T,
}

impl ResolvedPlan {
    /// Steps; both ends are the same when the number of repetitions is fixed.
    pub fn steps(&self) -> Bounds<u64> {
        let round = (self.cells.len() * self.targets.len()) as u64;
        let series = self.targets.len() as u64 * u64::from(self.load_repetitions());
        let loads = self.loads.len() as u64 * series;
        let searched = u64::from(self.most_searched()) * series;
        let most = round * u64::from(self.repeat.most);
        let most = match (self.repeat.budget, self.shortest_sample()) {
            // Beyond the first round, no more steps than samples fit into the time; the last pair may overrun.
            (Some(budget), Some(sample)) => {
                let fit = (budget.as_nanos() / sample.as_nanos().max(1)) as u64 + self.targets.len() as u64;
                most.min(round + fit)
            }
            _ => most,
        };
        Bounds { least: round * u64::from(self.repeat.certain()) + loads, most: most + loads + searched }
    }

    /// Measured time: cells at their sample and users at their windows at the least; at the most, cells up
    /// to [`MAX_WALL`] times their sample, and users with every extension. Preparing files is not counted, and a target on which one pass
    /// over a file takes longer than that takes as long as it takes.
    pub fn measured_time(&self) -> Bounds<Duration> {
        let targets = self.targets.len() as u32;
        let cells = time_of(&self.cells) * targets;
        let loads = time_of(&self.loads) * (targets * self.load_repetitions());
        let longest = self.extended_time();
        if let Some(budget) = self.repeat.budget {
            let least =
                if self.repeat.precision.is_some() { budget.min(cells * self.repeat.least) } else { budget };
            return Bounds { least: least.max(cells) + loads, most: budget.max(cells * MAX_WALL) + longest };
        }
        Bounds {
            least: cells * self.repeat.least + loads,
            most: cells * (MAX_WALL * self.repeat.most) + longest,
        }
    }

    /// Time of all load steps if each is extended as many times as allowed.
    pub fn extended_time(&self) -> Duration {
        let longest = |(_, work): &Cell| match work {
            Work::Records(_) | Work::Metadata(_) => Duration::ZERO,
            Work::Transactions(work) => work.longest(),
        };
        let searched = self.loads.last().map_or(Duration::ZERO, longest) * self.most_searched();
        let series = self.targets.len() as u32 * self.load_repetitions();
        (self.loads.iter().map(longest).sum::<Duration>() + searched) * series
    }

    /// Most steps that a search adds to a repetition of the load on each target.
    pub(super) fn most_searched(&self) -> u32 {
        if self.search.is_some() { Search::MAX_ADDED } else { 0 }
    }

    /// File data that is certain to be moved to or from each target: whole passes over each cell's file,
    /// those that warm or displace a server's cache, and the files read, which are written first. Fast targets move more: passes repeat until the
    /// sample is full. What users copy depends on their speed alone and is not counted.
    pub fn least_bytes_moved(&self) -> u64 {
        let mut moved = 0u64;
        let mut files = Vec::new();
        for (_, work) in &self.cells {
            if let Work::Records(work) = work {
                let pass = work.grid().records * u64::from(work.record_size);
                let passes = work.files_at_once() * (1 + u64::from(work.is_warmed()));
                moved = moved.saturating_add(pass.saturating_mul(passes)).saturating_add(work.displaced);
                files.push(work.file_size);
            }
        }
        files.sort_unstable();
        files.dedup();
        let passes = moved.saturating_mul(u64::from(self.repeat.certain()));
        files.iter().fold(passes, |sum, size| sum.saturating_add(*size))
    }

    fn shortest_sample(&self) -> Option<Duration> {
        let samples = self.cells.iter().filter_map(|(_, work)| match work {
            Work::Records(work) => Some(work.min_sample_time),
            Work::Metadata(work) => Some(work.min_sample_time),
            Work::Transactions(_) => None,
        });
        samples.min()
    }
}

fn time_of(cells: &[Cell]) -> Duration {
    let time = |(_, work): &Cell| match work {
        Work::Records(work) => work.min_sample_time,
        Work::Metadata(work) => work.min_sample_time,
        Work::Transactions(work) => work.warm_up + work.measure,
    };
    cells.iter().map(time).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Bounds, Plan, ResolvedPlan};

    fn plan(repeat: &str) -> ResolvedPlan {
        let text = format!(
            "{repeat}\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\nfile_sizes = ['64KiB']
record_sizes = ['4KiB']\ntests = ['write', 'read', 'reread']\n"
        );
        Plan::parse(&text).unwrap().resolve().unwrap()
    }

    #[test]
    fn steps_are_a_range_unless_the_repetitions_are_fixed() {
        assert_eq!(plan("repetitions = 7").steps(), Bounds { least: 42, most: 42 });
        assert_eq!(plan("").steps(), Bounds { least: 60, most: 360 });
        assert_eq!(plan("precision = '1%'").steps(), Bounds { least: 60, most: 360 });
        // 60 s hold 1,000 samples of 60 ms beyond the first round.
        assert_eq!(plan("time_budget = '60s'").steps(), Bounds { least: 6, most: 1_008 });
        assert_eq!(
            plan("time_budget = '60s'\nslice_time = '0s'").steps(),
            Bounds { least: 6, most: 308 },
            "300 samples of 200 ms"
        );
    }

    #[test]
    fn time_and_bytes_follow_from_samples_and_files() {
        let seconds =
            |least, most| Bounds { least: Duration::from_secs(least), most: Duration::from_secs(most) };
        assert_eq!(plan("slice_time = '0s'").measured_time(), seconds(12, 360));
        let in_slices = Bounds { least: Duration::from_millis(3_600), most: Duration::from_secs(108) };
        assert_eq!(plan("").measured_time(), in_slices);
        assert_eq!(plan("repetitions = 10").measured_time().least, Duration::from_secs(12));
        assert_eq!(plan("time_budget = '1m'").measured_time(), seconds(60, 60));
        let users = "[[target]]\nurl = '/a'\n[load]\nusers = [1, 2]\nwarm_up = '1s'\nmeasure = '30s'\nmax_extensions = 2\n";
        let users = Plan::parse(users).unwrap().resolve().unwrap();
        assert_eq!(users.measured_time(), seconds(2 * 31, 2 * (31 + 61 + 121)));
        let six = Plan { repetitions: Some(6), ..users.typed.clone() }.resolve().unwrap();
        assert_eq!(six.measured_time(), seconds(6 * 2 * 31, 6 * 2 * (31 + 61 + 121)));
        assert_eq!(six.steps(), Bounds { least: 12, most: 12 });
        assert_eq!(plan("repetitions = 1").least_bytes_moved(), 5 * 65536);
    }
}
