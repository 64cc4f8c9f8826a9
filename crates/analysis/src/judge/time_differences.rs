//! Why one system takes less time per operation than another: round trips, the network, this client's CPU or the server.

use crate::align::Aligned;
use crate::align::compared::ComparedSystems;
use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::judge::family::Family;
use crate::judge::time_budgets::{TimeBudget, budget, middle};
use crate::types::{Pairing, RatioVerdict, Row};

/// Difference of the times of two systems, as a share of the longer one, from which a reason is sought.
const DIFFERENCE: f64 = 0.05;
/// Share of the difference that a part must explain.
const EXPLAINED: f64 = 0.5;

/// Why one system is faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reason {
    /// It needs fewer round trips.
    RoundTrips,
    /// Its round trip on the network is shorter.
    Network,
    /// It costs this client less CPU.
    ClientCpu,
    /// Each request takes less time in the server.
    Server,
}

/// A difference between two systems in one section with its reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeDifference {
    /// Index of the section.
    pub section: usize,
    /// Systems: the faster one, the slower one.
    pub systems: [usize; 2],
    /// Their times, medians of the cells.
    pub budgets: [TimeBudget; 2],
    /// The reason.
    pub reason: Reason,
    /// Cells.
    pub cells: usize,
    /// Further sections in which the same reason makes the same system faster, by a smaller share of the time.
    pub likewise: usize,
}

impl TimeDifference {
    /// The part of the slower system's time that the faster one does not need.
    fn saved(&self) -> f64 {
        1.0 - self.budgets[0].time_ns / self.budgets[1].time_ns
    }
}

/// All differences of times with their reasons.
pub(super) fn time_differences(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    family: &Family,
) -> Vec<TimeDifference> {
    let mut found = Vec::new();
    for section in 0..estimated.sections.len() {
        for (comparison, pair) in aligned.compared.iter().enumerate() {
            let cells = cells(aligned, estimated, section, comparison, pair);
            found.extend(difference(&cells, family, section, [pair.a, pair.b]));
        }
    }
    largest_of(found)
}

/// The largest difference of each pair of systems and each reason: the others have the same reason.
fn largest_of(differences: Vec<TimeDifference>) -> Vec<TimeDifference> {
    let mut largest: Vec<TimeDifference> = Vec::new();
    for difference in differences {
        let same = |known: &&mut TimeDifference| {
            known.systems == difference.systems && known.reason == difference.reason
        };
        let Some(known) = largest.iter_mut().find(same) else {
            largest.push(difference);
            continue;
        };
        let likewise = known.likewise + 1;
        if difference.saved() > known.saved() {
            *known = difference;
        }
        known.likewise = likewise;
    }
    largest
}

/// A cell with the budgets of both compared systems.
struct BudgetCell<'a> {
    pairs: &'a Pairs,
    verdict: RatioVerdict,
    budgets: [TimeBudget; 2],
}

fn cells<'a>(
    aligned: &Aligned<'_>,
    estimated: &'a Estimated,
    section: usize,
    comparison: usize,
    pair: &ComparedSystems,
) -> Vec<BudgetCell<'a>> {
    let described = &estimated.sections[section];
    let cell = |(row, pairs): (&Row, &'a Option<Pairs>)| {
        let of = |system| budget(aligned, described, row, system);
        let verdict = row.ratios[comparison].as_ref()?.verdict;
        Some(BudgetCell { pairs: pairs.as_ref()?, verdict, budgets: [of(pair.a)?, of(pair.b)?] })
    };
    described.rows.iter().zip(&estimated.pairs[section][comparison]).filter_map(cell).collect()
}

/// The cells in which one of two systems is faster, and why it is. All cells count if their mean differs and none is
/// resolved the other way; otherwise those that differ each by itself.
fn difference(
    cells: &[BudgetCell<'_>],
    family: &Family,
    section: usize,
    [a, b]: [usize; 2],
) -> Option<TimeDifference> {
    let pairs: Vec<&Pairs> = cells.iter().map(|cell| cell.pairs).collect();
    let whole = family.difference(&pairs).map(|mean| mean > 0.0);
    let opposes = |is_a_faster: bool, cell: &BudgetCell<'_>| {
        cell.verdict == if is_a_faster { RatioVerdict::Slower } else { RatioVerdict::Faster }
    };
    let of_all = whole.filter(|faster| !cells.iter().any(|cell| opposes(*faster, cell)));
    let by_all = of_all.and_then(|faster| explained(cells.iter(), faster, section, [a, b]));
    by_all.or_else(|| {
        let single = |cell: &&BudgetCell<'_>| family.difference(&[cell.pairs]);
        let differing = |faster: bool| {
            cells.iter().filter(move |cell| single(cell).is_some_and(|mean| (mean > 0.0) == faster))
        };
        let faster = differing(true).count() >= differing(false).count();
        explained(differing(faster), faster, section, [a, b])
    })
}

/// The times of these cells and the reason why they differ; none if they do not, or nothing explains it.
fn explained<'a>(
    cells: impl Iterator<Item = &'a BudgetCell<'a>>,
    is_a_faster: bool,
    section: usize,
    [a, b]: [usize; 2],
) -> Option<TimeDifference> {
    let cells: Vec<&BudgetCell<'_>> = cells.collect();
    let side =
        |side: usize| middle(&cells.iter().map(|cell| cell.budgets[side]).collect::<Vec<TimeBudget>>());
    let [fast, slow] = if is_a_faster { [side(0)?, side(1)?] } else { [side(1)?, side(0)?] };
    if slow.time_ns - fast.time_ns < DIFFERENCE * slow.time_ns {
        return None;
    }
    let reason = reason(&fast, &slow)?;
    // Between two runs the machine may have changed. The number of requests is no matter of the machine.
    let in_turns = cells.iter().all(|cell| cell.pairs.pairing == Pairing::Interleaved);
    if !in_turns && reason != Reason::RoundTrips {
        return None;
    }
    let systems = if is_a_faster { [a, b] } else { [b, a] };
    Some(TimeDifference { section, systems, budgets: [fast, slow], reason, cells: cells.len(), likewise: 0 })
}

/// The part that explains at least half of the difference: none if no part does.
fn reason(fast: &TimeBudget, slow: &TimeBudget) -> Option<Reason> {
    let difference = slow.time_ns - fast.time_ns;
    let explains = |part: f64| part >= EXPLAINED * difference;
    let more_requests = slow.requests - fast.requests;
    if more_requests >= 0.5 && explains(more_requests * slow.outside_ns() / slow.requests.max(1.0)) {
        return Some(Reason::RoundTrips);
    }
    if explains(slow.client_ns - fast.client_ns) {
        return Some(Reason::ClientCpu);
    }
    let network = slow.round_trip_ns.zip(fast.round_trip_ns);
    if network
        .is_some_and(|(slow_trip, fast_trip)| explains(slow.requests * slow_trip - fast.requests * fast_trip))
    {
        return Some(Reason::Network);
    }
    explains(slow.outside_ns() - fast.outside_ns()).then_some(Reason::Server)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: TimeBudget =
        TimeBudget { time_ns: 100e3, requests: 1.0, client_ns: 30e3, round_trip_ns: Some(20e3) };

    #[test]
    fn part_that_explains_half_of_the_difference_is_the_reason() {
        let slower = |change: fn(&mut TimeBudget)| {
            let mut slow = BASE;
            change(&mut slow);
            reason(&BASE, &slow)
        };
        let trips = slower(|slow| (slow.requests, slow.time_ns) = (3.0, 250e3));
        assert_eq!(trips, Some(Reason::RoundTrips));
        let cpu = slower(|slow| (slow.client_ns, slow.time_ns) = (130e3, 200e3));
        assert_eq!(cpu, Some(Reason::ClientCpu));
        let network = slower(|slow| (slow.round_trip_ns, slow.time_ns) = (Some(120e3), 200e3));
        assert_eq!(network, Some(Reason::Network));
        assert_eq!(slower(|slow| slow.time_ns = 200e3), Some(Reason::Server));
    }
}
