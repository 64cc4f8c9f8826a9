//! Self-checks of several ranks: whether they started together, whether one is unlike the others, and what each
//! one's machine says.

use std::collections::BTreeMap;

use sharebench_model::units::{percent, show_nanos, three_digits};
use sharebench_model::{Check, RankShare, Verdict};
use sharebench_stats::median_or_zero;

use crate::check::verdict::{check, unless};

/// Start skew that is accepted for every window.
const SKEW_NS: u64 = 100_000_000;
/// Start skew that is accepted as a share of the window.
const SKEW_SHARE: f64 = 0.01;

/// The checks over all ranks.
pub(crate) fn checks(shares: &[RankShare], window_ns: u64, machines: &[(u32, Vec<Check>)]) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(start(shares, window_ns));
    checks.extend(alike(shares));
    checks.extend(worst(shares, machines));
    checks
}

/// Checks that all ranks started together, within the uncertainty of their clocks.
fn start(shares: &[RankShare], window_ns: u64) -> Option<Check> {
    let skew = RankShare::start_skew_ns(shares)?;
    let error = shares.iter().map(|share| share.clock_error_ns).max().unwrap_or(0);
    let limit = SKEW_NS.max((window_ns as f64 * SKEW_SHARE) as u64);
    let detail = format!(
        "{} ranks started within {} of each other (limit {}; clocks are known to ±{})",
        shares.iter().filter(|share| share.users > 0).count(),
        show_nanos(skew as f64),
        show_nanos(limit as f64),
        show_nanos(error as f64)
    );
    Some(if skew > limit {
        let remedy =
            "they did not measure the same time; look for a rank that swaps, or has too few processors";
        check("start", Verdict::Invalid, format!("{detail}: {remedy}"))
    } else {
        let remedy = "the network between the ranks is too slow to know their clocks";
        unless("start", error > limit, detail, remedy)
    })
}

/// Names the rank that differs from the others.
fn alike(shares: &[RankShare]) -> Option<Check> {
    let busy: Vec<&RankShare> = shares.iter().filter(|share| share.users > 0).collect();
    let per_user = |share: &RankShare| share.transactions as f64 / f64::from(share.users);
    let of_median_rank = |of: &dyn Fn(&RankShare) -> f64| {
        median_or_zero(&busy.iter().map(|share| of(share)).collect::<Vec<_>>())
    };
    let middle = of_median_rank(&per_user);
    let expected = |share: &RankShare| middle * f64::from(share.users);
    if busy.len() < 3 || busy.iter().any(|share| expected(share) < RankShare::FEW) {
        return None;
    }
    let slowest = busy.iter().min_by(|a, b| per_user(a).total_cmp(&per_user(b)))?;
    let least = per_user(slowest) / middle;
    let named = name(slowest);
    // Few transactions differ by chance: four standard deviations of a count do not.
    // The standard deviation of a Poisson count is its square root.
    let missing = expected(slowest) - slowest.transactions as f64;
    let half = |share: &RankShare| share.response.quantile(0.5) as f64;
    let usual = of_median_rank(&half);
    let latest = busy.iter().max_by(|a, b| half(a).total_cmp(&half(b)))?;
    let times = half(latest) / usual.max(1.0);
    if least < RankShare::SLOW && missing > 4.0 * expected(slowest).sqrt() {
        let detail = format!(
            "{named} is slow: its users completed {} of the transactions per user of the median rank; check its link and load",
            percent(least, 1)
        );
        return Some(check("ranks", Verdict::Warning, detail));
    }
    if times > RankShare::WAITS {
        let detail = format!(
            "{} waits longer: half of its responses took more than {}, {} times as long as on the median rank; check \
             its link",
            name(latest),
            show_nanos(half(latest)),
            three_digits(times)
        );
        return Some(check("ranks", Verdict::Warning, detail));
    }
    let detail = format!(
        "{} ranks are alike: the slowest, {named}, completed {} of the median rank's transactions per user",
        busy.len(),
        percent(least, 1)
    );
    Some(check("ranks", Verdict::Valid, detail))
}

/// The worst result of each machine check, with its rank.
fn worst(shares: &[RankShare], machines: &[(u32, Vec<Check>)]) -> Vec<Check> {
    let mut order: Vec<&str> = Vec::new();
    let mut worst: BTreeMap<&str, (u32, &Check)> = BTreeMap::new();
    for (rank, checks) in machines {
        for check in checks {
            let known = worst.entry(&check.name).or_insert_with(|| {
                order.push(&check.name);
                (*rank, check)
            });
            // The first rank with the worst verdict is named: `>` keeps it when others are equal.
            if check.verdict > known.1.verdict {
                *known = (*rank, check);
            }
        }
    }
    let named = |rank: u32| {
        let share = shares.iter().find(|share| share.rank == rank);
        share.map_or_else(|| format!("rank {rank}"), name)
    };
    let reported = |name: &str| {
        let (rank, check) = worst.get(name)?;
        let detail = format!("{}: {}", named(*rank), check.detail);
        Some(Check::new(check.name.as_str(), check.verdict, detail))
    };
    order.into_iter().filter_map(reported).collect()
}

fn name(share: &RankShare) -> String {
    format!("rank {} ({})", share.rank, share.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(rank: u32, transactions: u64, half_ns: u64, late_ns: u64) -> RankShare {
        let mut share = RankShare {
            rank,
            host: format!("c{rank}"),
            users: 2,
            transactions,
            late_ns,
            clock_error_ns: 40_000,
            ..RankShare::default()
        };
        share.response.record_n(half_ns, 100);
        share
    }

    #[test]
    fn a_slow_rank_is_named_and_alike_ones_are_not() {
        let mut shares: Vec<RankShare> =
            (0..6).map(|rank| share(rank, 1000 + u64::from(rank), 500, 0)).collect();
        let alike = alike(&shares).unwrap();
        assert!(
            alike.verdict == Verdict::Valid && alike.detail.contains("rank 0 (c0), completed 99"),
            "{alike:?}"
        );
        shares[4].transactions = 500;
        let slow = super::alike(&shares).unwrap();
        assert!(slow.verdict == Verdict::Warning && slow.detail.contains("rank 4 (c4) is slow"), "{slow:?}");
        shares[4] = share(4, 1000, 2000, 0);
        let late = super::alike(&shares).unwrap();
        assert!(late.verdict == Verdict::Warning && late.detail.contains("rank 4 (c4) waits"), "{late:?}");
        assert_eq!(super::alike(&shares[..2]), None);
        let few: Vec<RankShare> =
            (0..6).map(|rank| share(rank, if rank == 3 { 17 } else { 25 }, 500, 0)).collect();
        assert_eq!(super::alike(&few).unwrap().verdict, Verdict::Valid, "chance");
    }

    #[test]
    fn starts_apart_by_more_than_a_hundredth_of_the_window_are_no_common_start() {
        let at =
            |late: u64, window| start(&[share(0, 1, 1, 0), share(1, 1, 1, late)], window).unwrap().verdict;
        assert_eq!(at(4_000_000, 1_000_000_000), Verdict::Valid);
        assert_eq!(at(101_000_000, 1_000_000_000), Verdict::Invalid);
        assert_eq!(at(101_000_000, 20_000_000_000), Verdict::Valid);
        let reported = start(&[share(0, 1, 1, 0), share(1, 1, 1, 400_000)], 1).unwrap().detail.clone();
        assert!(reported.contains("2 ranks started within 400 us") && reported.contains("±40"), "{reported}");
    }

    #[test]
    fn the_worst_of_several_machines_is_reported_by_name() {
        let of = |verdict, detail: &str| vec![check("steal", verdict, detail.into())];
        let machines = [
            (0, of(Verdict::NotKnown, "?")),
            (1, of(Verdict::Warning, "9 %")),
            (2, of(Verdict::Valid, "0 %")),
        ];
        let shares: Vec<RankShare> = (0..3).map(|rank| share(rank, 1, 1, 0)).collect();
        let reported = worst(&shares, &machines);
        assert_eq!(reported, [check("steal", Verdict::Warning, "rank 1 (c1): 9 %".into())]);
    }
}
