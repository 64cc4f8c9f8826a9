//! What each of several load machines did in a run, and which of them differs from the others.

use std::collections::BTreeMap;

use sharebench_model::{Histogram, IoBytes, RankShare, StepResult};
use sharebench_stats::{median, median_or_zero};

use crate::types::{RankSummary, RankTable, RunData};

/// Facts of a run's environment that speak of its ranks.
const DIFFERENCES: &str = "rank_differences";

/// Everything of a rank, to be added up.
#[derive(Default)]
struct Sum {
    host: String,
    users: u32,
    bytes: IoBytes,
    nanos: u64,
    operations: u64,
    errors: u64,
    late_ns: u64,
    response: Histogram,
    works: Vec<f64>,
    waits: Vec<f64>,
}

/// A table for each run of several ranks.
pub(crate) fn tables(runs: &[RunData]) -> Vec<RankTable> {
    runs.iter().filter_map(table).collect()
}

fn table(run: &RunData) -> Option<RankTable> {
    let ranked = || run.steps.iter().filter(|step| step.measure.ranks.len() > 1);
    let start_skew_ns = ranked().filter_map(|step| RankShare::start_skew_ns(&step.measure.ranks)).max()?;
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for step in ranked() {
        add(&mut sums, step);
    }
    let errors = ranked().flat_map(|step| &step.measure.ranks).map(|share| share.clock_error_ns);
    let differences = run.header.environment.get(DIFFERENCES).map(|text| text.split("; ").map(str::to_owned));
    Some(RankTable {
        run: run.label.clone(),
        ranks: sums.into_iter().map(|(rank, sum)| sum.line(rank)).collect(),
        steps: ranked().count(),
        start_skew_ns,
        clock_error_ns: errors.max().unwrap_or(0),
        differences: differences.map(Iterator::collect).unwrap_or_default(),
    })
}

fn add(sums: &mut BTreeMap<u32, Sum>, step: &StepResult) {
    let shares = &step.measure.ranks;
    let busy = || shares.iter().filter(|share| share.users > 0);
    let per_user = |share: &RankShare| share.transactions as f64 / f64::from(share.users);
    let half = |share: &RankShare| share.response.quantile(0.5) as f64;
    let of_median_rank = |of: &dyn Fn(&RankShare) -> f64| median_or_zero(&busy().map(of).collect::<Vec<_>>());
    let usual_work = of_median_rank(&per_user);
    let usual_wait = of_median_rank(&half);
    // Of two nobody can say which is the unlike one, and few transactions differ by chance.
    let ranked =
        busy().count() > 2 && busy().all(|share| usual_work * f64::from(share.users) >= RankShare::FEW);
    for share in shares {
        let sum = sums.entry(share.rank).or_default();
        sum.host.clone_from(&share.host);
        sum.users = sum.users.max(share.users);
        sum.bytes.read += share.bytes.read;
        sum.bytes.written += share.bytes.written;
        sum.nanos += step.measure.base_ns();
        sum.operations += share.operations;
        sum.errors += share.errors;
        sum.late_ns = sum.late_ns.max(share.late_ns);
        sum.response.merge(&share.response);
        if ranked && share.users > 0 {
            sum.works.push(per_user(share) / usual_work);
            sum.waits.extend((usual_wait > 0.0).then(|| half(share) / usual_wait));
        }
    }
}

impl Sum {
    fn line(mut self, rank: u32) -> RankSummary {
        let bytes_per_s =
            if self.nanos == 0 { 0.0 } else { self.bytes.total() as f64 * 1e9 / self.nanos as f64 };
        RankSummary {
            rank,
            bytes_per_s,
            host: self.host,
            users: self.users,
            operations: self.operations,
            errors: self.errors,
            p50_ns: self.response.quantile(0.5),
            p99_ns: self.response.quantile(0.99),
            late_ns: self.late_ns,
            work: median(&mut self.works),
            wait: median(&mut self.waits),
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Coordinates, Facts, Measure, RateBase, RunHeader, RunOutcome};

    use super::*;
    use crate::types::RankDeviation;

    /// Ranks of two users each, with these transactions and median responses.
    fn run(ranks: &[(u64, u64)]) -> RunData {
        let share = |(number, (transactions, half)): (usize, &(u64, u64))| {
            let mut share = RankShare {
                rank: number as u32,
                host: format!("c{number}"),
                users: 2,
                transactions: *transactions,
                operations: *transactions,
                bytes: IoBytes { read: transactions * 1000, written: 0 },
                late_ns: number as u64 * 100,
                clock_error_ns: 7,
                ..RankShare::default()
            };
            share.response.record_n(*half, 100);
            share
        };
        let measure = Measure {
            window_ns: 1_000_000_000,
            rate_base: RateBase::Window,
            ranks: ranks.iter().enumerate().map(share).collect(),
            ..Measure::default()
        };
        let step = |index| StepResult {
            index,
            target: 0,
            repetition: index,
            coordinates: Coordinates::new(),
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure: measure.clone(),
            checks: Vec::new().into(),
        };
        let environment = Facts::from([(DIFFERENCES.to_owned(), "cores: 2 on c0; 1 on c1".to_owned())]);
        let header = RunHeader {
            title: String::new(),
            started_unix_ms: 0,
            version: String::new(),
            plan: String::new(),
            seed: 0,
            steps_planned: 2,
            repeat: None,
            environment,
            targets: Vec::new(),
        };
        let label = "1".to_owned();
        let command = String::new();
        let outcome = Some(RunOutcome::Complete);
        RunData { label, command, header, facts: Vec::new(), steps: vec![step(0), step(1)], outcome }
    }

    #[test]
    fn the_slow_rank_and_the_one_that_waits_are_unlike_the_others() {
        let table = table(&run(&[(100, 1000), (100, 1000), (50, 1000), (100, 3000)])).unwrap();
        let unlike: Vec<_> = table.ranks.iter().map(RankSummary::unlike).collect();
        assert_eq!(unlike, [None, None, Some(RankDeviation::Slow), Some(RankDeviation::Waits)]);
        assert_eq!((table.steps, table.start_skew_ns, table.clock_error_ns), (2, 300, 7));
        assert_eq!(table.differences, ["cores: 2 on c0", "1 on c1"]);
        let slow = &table.ranks[2];
        assert_eq!((slow.host.as_str(), slow.operations, slow.errors), ("c2", 100, 0));
        assert!((slow.bytes_per_s - 50_000.0).abs() < 1e-6 && slow.work == Some(0.5), "{slow:?}");
    }

    #[test]
    fn of_two_or_of_little_nothing_is_said() {
        let two = table(&run(&[(100, 1000), (50, 1000)])).unwrap();
        assert!(two.ranks.iter().all(|rank| rank.unlike().is_none() && rank.work.is_none()));
        let few = table(&run(&[(9, 1000), (9, 1000), (1, 1000)])).unwrap();
        assert!(few.ranks.iter().all(|rank| rank.unlike().is_none()));
        assert_eq!(table(&run(&[(100, 1000)])), None, "one process has no ranks");
    }
}
