//! The latency budget: the parts of the time of a typical operation.

use serde::{Serialize, Serializer};
use sharebench_stats::{Estimate, bootstrap_intervals, median};

use crate::evidence::Evidence;
use crate::operations::{LARGE_BYTES, LEVEL, Operation, RESAMPLES, SEED, SMALL_BYTES, Sample, Series};

/// A part of the time of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Round trips on the network: one per request that waits for the one before.
    Network,
    /// What the server needs for requests as such: the empty request without network and client.
    Protocol,
    /// Moving the data: the link, and copies between the server's cache and its socket, which take the same time on every
    /// repetition and cannot be separated from each other.
    Transfer,
    /// The rest: the server's cache or storage, and the work that only this operation needs.
    Storage,
    /// CPU time of this client.
    Client,
    /// Waiting of this client: for a CPU, or for the wake-up after the reply has arrived at this machine.
    Waiting,
}

/// Number of parts.
const PARTS: usize = 6;

impl Part {
    /// All parts, in the order of reports.
    pub const ALL: [Self; PARTS] =
        [Self::Network, Self::Protocol, Self::Transfer, Self::Storage, Self::Client, Self::Waiting];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Protocol => "protocol",
            Self::Transfer => "transfer",
            Self::Storage => "storage",
            Self::Client => "client",
            Self::Waiting => "waiting",
        }
    }
}

impl Part {
    /// What it is, in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Network => "the network's round trip",
            Self::Protocol => "the server's work for requests",
            Self::Transfer => "the transfer of the data",
            Self::Storage => "the server's cache or storage",
            Self::Client => "this client's CPU",
            Self::Waiting => "waiting of this client for a CPU",
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One part with its time, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PartShare {
    /// Which part.
    pub part: Part,
    /// Its time, never negative; the times of all parts add up to the total.
    pub time_ns: Estimate,
}

/// The parts of the time of one operation.
///
/// Total and parts are computed from medians: the parts are taken off the total one after another, each at most what is
/// left, so that they add up to the total and none is negative. Where a measurement is missing, its part is 0 and belongs
/// to the one named in `merged`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Budget {
    /// The operation.
    pub operation: Operation,
    /// Its median time, nanoseconds.
    pub total_ns: Estimate,
    /// Requests on the wire.
    pub requests: f64,
    /// The parts, in the order of [`Part::ALL`].
    pub parts: Vec<PartShare>,
    /// Parts that could not be separated from another one: (part, the part that contains it).
    pub merged: Vec<(Part, Part)>,
}

impl Budget {
    /// The time of a part, nanoseconds.
    pub fn time(&self, part: Part) -> f64 {
        self.parts.iter().find(|share| share.part == part).map_or(0.0, |share| share.time_ns.value)
    }

    /// The share of a part, 0 to 1.
    pub fn share(&self, part: Part) -> f64 {
        if self.total_ns.value > 0.0 { self.time(part) / self.total_ns.value } else { 0.0 }
    }

    /// The part with the longest time.
    pub fn largest(&self) -> Part {
        let longest = self.parts.iter().max_by(|a, b| a.time_ns.value.total_cmp(&b.time_ns.value));
        longest.map_or(Part::Storage, |share| share.part)
    }
}

/// Medians from which a budget is computed, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Medians {
    /// Time of the operation.
    pub(crate) total: f64,
    /// CPU time of the client in it.
    pub(crate) client: f64,
    /// Time in it for which the client waited: for a CPU, or for its wake-up.
    pub(crate) waiting: f64,
    /// Time, client CPU time and waiting of an empty request; zeros without one.
    pub(crate) empty: f64,
    pub(crate) empty_client: f64,
    pub(crate) empty_waiting: f64,
    /// Time of moving the data, for a large operation.
    pub(crate) transfer: f64,
}

/// Divides the time of an operation of `requests` requests with network round trips of `network` nanoseconds into the parts
/// in the order of [`Part::ALL`].
pub(crate) fn divide(medians: Medians, requests: f64, network: f64) -> [f64; PARTS] {
    let mut left = medians.total.max(0.0);
    let mut take = |wanted: f64| {
        let taken = wanted.clamp(0.0, left);
        left -= taken;
        taken
    };
    let client = take(medians.client);
    let network_part = take(requests * network);
    let waiting = take(medians.waiting);
    let own = medians.empty_client + medians.empty_waiting;
    let protocol = take(requests * (medians.empty - network - own));
    let transfer = take(medians.transfer);
    [network_part, protocol, transfer, left, client, waiting]
}

/// The budget of an operation; none if it was not measured.
pub(crate) fn budget(evidence: &Evidence, operation: Operation) -> Option<Budget> {
    let series = &evidence.series;
    let requests = series.requests(operation);
    let network = evidence.network_ns.unwrap_or(0.0);
    let samples = samples_of(series, operation);
    if samples[0].is_empty() {
        return None;
    }
    let statistics = |drawn: &mut [Vec<f64>]| {
        let medians = medians_of(drawn, operation);
        let parts = divide(medians, requests, network);
        let mut values = [medians.total; PARTS + 1];
        values[..PARTS].copy_from_slice(&parts);
        values
    };
    let values = statistics(&mut samples.clone());
    let borrowed: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
    let intervals = bootstrap_intervals(&borrowed, LEVEL, RESAMPLES, SEED, statistics);
    let n = samples[0].len();
    let estimate = |index: usize| Estimate {
        value: values[index],
        interval: intervals.map(|intervals| intervals[index]),
        n,
    };
    let parts = Part::ALL.into_iter().enumerate();
    let parts = parts.map(|(index, part)| PartShare { part, time_ns: estimate(index) }).collect();
    let mut merged = Vec::new();
    if evidence.network_ns.is_none() {
        let other = if samples[3].is_empty() { Part::Storage } else { Part::Protocol };
        merged.push((Part::Network, other));
    }
    if samples[3].is_empty() {
        merged.push((Part::Protocol, Part::Storage));
    }
    Some(Budget { operation, total_ns: estimate(PARTS), requests, parts, merged })
}

/// The samples from which [`medians_of`] computes, in its order.
fn samples_of(series: &Series, operation: Operation) -> Vec<Vec<f64>> {
    let again = |wanted: bool, operation| if wanted { series.elapsed(operation) } else { Vec::new() };
    let moves_data = payload(operation) > 0.0;
    vec![
        series.elapsed(operation),
        series.figures(operation, |sample| sample.cpu_ns),
        series.figures(operation, Sample::waiting_ns),
        series.elapsed(Operation::Empty),
        series.figures(Operation::Empty, |sample| sample.cpu_ns),
        again(moves_data, Operation::LargeReadAgain),
        again(moves_data, Operation::SmallReadAgain),
        series.figures(Operation::SmallReadAgain, |sample| sample.cpu_ns),
        series.figures(Operation::LargeReadAgain, |sample| sample.cpu_ns),
        series.figures(Operation::Empty, Sample::waiting_ns),
    ]
}

/// Bytes of file data that an operation moves in proportion to those by which a large read exceeds a small one.
fn payload(operation: Operation) -> f64 {
    let small = f64::from(SMALL_BYTES) / f64::from(LARGE_BYTES - SMALL_BYTES);
    match operation {
        Operation::LargeRead => 1.0 + small,
        Operation::Listing => 0.0,
        _ => small,
    }
}

fn medians_of(drawn: &mut [Vec<f64>], operation: Operation) -> Medians {
    let mut at = |index: usize| median(&mut drawn[index]).unwrap_or(0.0);
    let client = at(1);
    // What a large read of known data takes longer than a small one, without what the client's own CPU takes longer.
    let longer = if at(5) > 0.0 { (at(5) - at(6)) - (at(8) - at(7)).max(0.0) } else { 0.0 };
    let transfer = longer * payload(operation);
    Medians {
        total: at(0),
        client,
        waiting: at(2),
        empty: at(3),
        empty_client: at(4),
        empty_waiting: at(9),
        transfer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e3;

    #[test]
    fn parts_add_up_and_are_never_negative() {
        for total in [0.0, 10.0, 55.0, 100.0, 1000.0] {
            for requests in [0.0, 1.0, 3.0] {
                let medians = Medians {
                    total,
                    client: 20.0,
                    waiting: 5.0,
                    empty: 40.0,
                    empty_client: 12.0,
                    empty_waiting: 3.0,
                    transfer: 30.0,
                };
                let parts = divide(medians, requests, 50.0);
                assert!(parts.iter().all(|part| *part >= 0.0), "{parts:?}");
                assert!((parts.iter().sum::<f64>() - total).abs() < 1e-9, "{parts:?}");
            }
        }
    }

    /// A share whose parts are known: 100 us of network, 30 us of protocol work, 10 us of client per request, and storage.
    fn known(storage: f64) -> Evidence {
        let mut series = Series::default();
        for round in 0..40 {
            // Symmetric noise of up to 5 us, the same in no two operations.
            let noise = |step: i32| f64::from((round * step) % 11 - 5) * US;
            let sample = |elapsed_ns: f64, requests: u32| Sample {
                elapsed_ns,
                cpu_ns: 10.0 * US * f64::from(requests),
                starved_ns: 0.0,
                unseen_ns: 10.0 * US,
                requests,
            };
            series.add(Operation::Empty, sample(140.0 * US + noise(3), 1));
            series.add(Operation::SmallRead, sample(140.0 * US + storage + noise(7), 1));
            series.add(Operation::OpenReadClose, sample(3.0 * 140.0 * US + storage + noise(5), 3));
        }
        Evidence { series, network_ns: Some(100.0 * US), ..Evidence::default() }
    }

    #[test]
    fn known_parts_are_found_within_two_percent_of_the_total() {
        for storage in [0.0, 50.0 * US, 5_000.0 * US] {
            let evidence = known(storage);
            for (operation, requests) in [(Operation::SmallRead, 1.0), (Operation::OpenReadClose, 3.0)] {
                let found = budget(&evidence, operation).unwrap();
                let truth =
                    [100.0 * US * requests, 30.0 * US * requests, 0.0, storage, 10.0 * US * requests, 0.0];
                for (part, truth) in found.parts.iter().zip(truth) {
                    let error = (part.time_ns.value - truth).abs() / found.total_ns.value;
                    assert!(error < 0.02, "{operation:?} {part:?}, truth {truth}");
                    assert!(part.time_ns.interval.is_some());
                }
                let sum: f64 = found.parts.iter().map(|part| part.time_ns.value).sum();
                assert!((sum - found.total_ns.value).abs() < 1.0);
            }
        }
    }

    #[test]
    fn what_cannot_be_separated_is_named() {
        let mut evidence = known(0.0);
        evidence.network_ns = None;
        let found = budget(&evidence, Operation::SmallRead).unwrap();
        assert_eq!(found.merged, [(Part::Network, Part::Protocol)]);
        assert!(found.time(Part::Network).abs() < f64::EPSILON);
        assert_eq!(budget(&evidence, Operation::Listing), None);
    }
}
