//! Where the time of an operation goes: round trips, this client's CPU and the rest; and how the time grows with a simulated
//! distance.

use std::collections::BTreeMap;

use sharebench_model::units::parse_duration;
use sharebench_model::{RateBase, StepResult, TcpCounts, axis};
use sharebench_stats::median_or_zero;

use crate::align::Aligned;
use crate::align::rates::usable;
use crate::estimate::Estimated;
use crate::judge::cache_cliffs::crossed_the_wire;
use crate::judge::family::Family;
use crate::judge::time_differences::{TimeDifference, time_differences};
use crate::types::{Row, Section, View};

/// Segments below which nothing is said of losses.
const MIN_SEGMENTS: u64 = 1_000;
/// Share of lost segments, and of segments out of order, from which they matter.
const LOSS: f64 = 0.001;
const DISORDER: f64 = 0.005;
/// Path MTU above that of every network, bytes: the connection does not leave this machine (its loopback has 65536 on Linux).
const LARGEST_MTU: u32 = 9_216;
/// Round trip that a connection within the machine has only if something delays it, microseconds.
const DELAYED_US: u32 = 500;
/// Share of the sending time in which the server's window was full, from which it limits.
const WINDOW: f64 = 0.3;
/// Share of the time of operations that the network's round trip takes, from which it is stated.
const DISTANT: f64 = 0.5;

/// The time of one operation, or of one transaction of a load, and what is known of its parts. One operation is in flight
/// at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeBudget {
    /// Its time, nanoseconds.
    pub time_ns: f64,
    /// Requests on the wire.
    pub requests: f64,
    /// CPU time of this client, nanoseconds.
    pub client_ns: f64,
    /// Smallest round trip of TCP, nanoseconds; none where the kernel's figures are not known.
    pub round_trip_ns: Option<f64>,
}

impl TimeBudget {
    /// Time outside this client: network and server.
    pub(super) fn outside_ns(&self) -> f64 {
        (self.time_ns - self.client_ns).max(0.0)
    }
}

/// What the kernel knows of the connections of one system in one section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TcpFinding {
    pub section: usize,
    pub system: usize,
    pub kind: TcpKind,
}

/// What limits by the kernel's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TcpKind {
    /// Segments were sent again: their number and that of all.
    Loss(u64, u64),
    /// Segments were out of order: their number and that of all received.
    Disorder(u64, u64),
    /// The server's receive window was full for this share of the sending time.
    Window(f64),
    /// The round trip takes this share of the time of an operation; round trip, nanoseconds.
    RoundTrip(f64, f64),
}

/// The time of one operation at several distances.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DistanceReport {
    pub section: usize,
    /// The nearest system.
    pub system: usize,
    /// Requests per operation or transaction.
    pub requests: f64,
    /// Round trips one after another: how many times the distance adds to the time.
    pub round_trips: f64,
    /// Time without distance, nanoseconds.
    pub near_ns: f64,
    /// Distance, predicted and measured time, nanoseconds; of the distances that the prediction did not use.
    pub predicted: Vec<(f64, f64, f64)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct TimeBudgets {
    pub differences: Vec<TimeDifference>,
    pub tcp: Vec<TcpFinding>,
    pub distances: Vec<DistanceReport>,
}

/// Finds what round trips, client CPU and the kernel's figures explain.
pub(crate) fn time_budgets(aligned: &Aligned<'_>, estimated: &Estimated, family: &Family) -> TimeBudgets {
    let differences = time_differences(aligned, estimated, family);
    let mut found = TimeBudgets { differences, ..TimeBudgets::default() };
    for (index, section) in estimated.sections.iter().enumerate() {
        for system in 0..aligned.systems.len() {
            found.tcp.extend(tcp_findings(aligned, section, index, system));
        }
        found.distances.extend(distances(aligned, section, index));
    }
    found
}

/// The budget of a system in a cell; none if several operations were in flight, a client's cache served it, or the
/// requests were not counted.
pub(super) fn budget(
    aligned: &Aligned<'_>,
    section: &Section,
    row: &Row,
    system: usize,
) -> Option<TimeBudget> {
    let outcome = row.outcomes.get(system)?.as_ref()?;
    let is_serial = |axis| row.coordinates.number(axis).is_none_or(|number| number == 1);
    let is_load = section.view == View::Load;
    let one_at_a_time = is_load || is_serial(axis::QUEUE_DEPTH) && is_serial(axis::JOBS);
    if !(crossed_the_wire(aligned, system, outcome) && one_at_a_time) {
        return None;
    }
    let steps = aligned.steps.at_system(&row.coordinates, system);
    let budgets: Vec<TimeBudget> = steps
        .iter()
        .filter(|step| usable(step, section.unit))
        .filter_map(|step| of_step(step, is_load))
        .collect();
    middle(&budgets)
}

fn of_step(step: &StepResult, is_load: bool) -> Option<TimeBudget> {
    let measure = &step.measure;
    let wire = (*measure.wire).filter(|wire| wire.requests > 0)?;
    let count = if is_load { measure.transactions } else { measure.operations };
    if count == 0 {
        return None;
    }
    let each = |total: u64| total as f64 / count as f64;
    let time_ns = match measure.rate_base {
        _ if is_load => measure.mean_response_ns()?,
        // Tests of names, locks and copies on the server divide by their window: nobody adds up their busy time.
        RateBase::Window => each(measure.window_ns),
        RateBase::Busy | RateBase::Reported { .. } => each(measure.operations_ns()),
    };
    // Nothing is a share of no time.
    (time_ns > 0.0).then(|| TimeBudget {
        time_ns,
        requests: each(wire.requests),
        client_ns: each(measure.client_cpu.total_ns()).min(time_ns),
        round_trip_ns: (*measure.tcp).map(|tcp| f64::from(tcp.min_rtt_us) * 1e3),
    })
}

/// The medians; none of nothing.
pub(super) fn middle(budgets: &[TimeBudget]) -> Option<TimeBudget> {
    if budgets.is_empty() {
        return None;
    }
    let of =
        |figure: fn(&TimeBudget) -> f64| median_or_zero(&budgets.iter().map(figure).collect::<Vec<f64>>());
    let trips: Vec<f64> = budgets.iter().filter_map(|budget| budget.round_trip_ns).collect();
    Some(TimeBudget {
        time_ns: of(|budget| budget.time_ns),
        requests: of(|budget| budget.requests),
        client_ns: of(|budget| budget.client_ns),
        round_trip_ns: (trips.len() == budgets.len()).then(|| median_or_zero(&trips)),
    })
}

/// What the kernel's figures show of a system in a section.
fn tcp_findings(aligned: &Aligned<'_>, section: &Section, index: usize, system: usize) -> Vec<TcpFinding> {
    let steps = section.rows.iter().flat_map(|row| aligned.steps.at_system(&row.coordinates, system));
    let all = steps.filter_map(|step| *step.measure.tcp).reduce(TcpCounts::and);
    let Some(tcp) = all else { return Vec::new() };
    let mut kinds = Vec::new();
    let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    // Loopback loses and reorders nothing: a busy machine is late with acknowledgements, and the kernel sends again.
    let crosses_a_network = tcp.pmtu <= LARGEST_MTU || tcp.min_rtt_us >= DELAYED_US;
    if !crosses_a_network {
        // Nothing is said of losses.
    } else if tcp.segments_sent >= MIN_SEGMENTS && share(tcp.retransmissions, tcp.segments_sent) >= LOSS {
        kinds.push(TcpKind::Loss(tcp.retransmissions, tcp.segments_sent));
    } else if tcp.segments_received >= MIN_SEGMENTS
        && share(tcp.out_of_order, tcp.segments_received) >= DISORDER
    {
        kinds.push(TcpKind::Disorder(tcp.out_of_order, tcp.segments_received));
    }
    // On a fast path the window is full for moments, which does not limit.
    if share(tcp.rwnd_limited_us, tcp.busy_us) >= WINDOW && tcp.min_rtt_us >= 500 {
        kinds.push(TcpKind::Window(share(tcp.rwnd_limited_us, tcp.busy_us)));
    }
    let budgets: Vec<TimeBudget> =
        section.rows.iter().filter_map(|row| budget(aligned, section, row, system)).collect();
    if let Some(TimeBudget { time_ns, requests, round_trip_ns: Some(trip), .. }) = middle(&budgets)
        // Requests that take longer than their operation were not sent one after the other.
        && (DISTANT..=1.0).contains(&(requests * trip / time_ns))
    {
        kinds.push(TcpKind::RoundTrip(requests * trip / time_ns, trip));
    }
    kinds.into_iter().map(|kind| TcpFinding { section: index, system, kind }).collect()
}

/// Systems that differ in their simulated distance alone, and how their times grow with it.
fn distances(aligned: &Aligned<'_>, section: &Section, index: usize) -> Vec<DistanceReport> {
    let mut groups: BTreeMap<String, Vec<(f64, usize)>> = BTreeMap::new();
    for (number, system) in aligned.systems.iter().enumerate() {
        if let Some((near, distance_ns)) = without_distance(&system.url) {
            groups.entry(near).or_default().push((distance_ns, number));
        }
    }
    let mut found = Vec::new();
    for mut systems in groups.into_values().filter(|systems| systems.len() > 1) {
        systems.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Systems of one distance, such as a server in two runs, predict nothing of each other.
        systems.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
        let budgets: Vec<(f64, usize, TimeBudget)> = systems
            .iter()
            .filter_map(|(distance, system)| {
                let cells: Vec<TimeBudget> =
                    section.rows.iter().filter_map(|row| budget(aligned, section, row, *system)).collect();
                Some((*distance, *system, middle(&cells)?))
            })
            .collect();
        found.extend(distance_report(&budgets, index));
    }
    found
}

/// Predicts the times of the farther systems: from the round trips that the two nearest show, or from the number of requests
/// if there are only two.
fn distance_report(budgets: &[(f64, usize, TimeBudget)], section: usize) -> Option<DistanceReport> {
    let [(near_distance, system, near), (next_distance, _, next), rest @ ..] = budgets else { return None };
    let slope = (next.time_ns - near.time_ns) / (next_distance - near_distance);
    let (round_trips, others) = if rest.is_empty() { (near.requests, &budgets[1..]) } else { (slope, rest) };
    if !round_trips.is_finite() || round_trips < 0.0 {
        return None;
    }
    let near_ns = (near.time_ns - round_trips * near_distance).max(0.0);
    let predict = |(distance, _, measured): &(f64, usize, TimeBudget)| {
        (*distance, near_ns + round_trips * distance, measured.time_ns)
    };
    let predicted = others.iter().map(predict).collect();
    Some(DistanceReport {
        section,
        system: *system,
        requests: near.requests,
        round_trips,
        near_ns,
        predicted,
    })
}

/// A URL without its simulated distance, and the distance in nanoseconds. None for a distance with a rate, over which the
/// time depends on the bytes as well.
fn without_distance(url: &str) -> Option<(String, f64)> {
    let Some((path, query)) = url.split_once('?') else { return Some((url.to_owned(), 0.0)) };
    let mut distance_ns = 0.0;
    let mut others = Vec::new();
    for option in query.split('&') {
        match option.strip_prefix("far=") {
            Some(far) if far.contains(',') || far.contains("%2C") => return None,
            Some("0") => {}
            Some(far) => distance_ns = parse_duration(far).ok()?.as_nanos() as f64,
            None => others.push(option),
        }
    }
    Some((format!("{path}?{}", others.join("&")).trim_end_matches('?').to_owned(), distance_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: TimeBudget =
        TimeBudget { time_ns: 100e3, requests: 1.0, client_ns: 30e3, round_trip_ns: Some(20e3) };

    #[test]
    fn three_distances_predict_the_third_and_two_predict_by_the_requests() {
        let at = |ms: f64, trips: f64| {
            let budget = TimeBudget { time_ns: 1e6 + trips * ms * 1e6, requests: 4.0, ..BASE };
            (ms * 1e6, 0, budget)
        };
        let report = distance_report(&[at(0.0, 3.0), at(5.0, 3.0), at(20.0, 3.0)], 0).unwrap();
        assert!((report.round_trips - 3.0).abs() < 1e-9 && (report.near_ns - 1e6).abs() < 1e-3);
        let [(distance, predicted, measured)] = report.predicted[..] else { panic!("{report:?}") };
        assert!((distance - 20e6).abs() < 1e-3 && (predicted - measured).abs() < 1e-3);
        let report = distance_report(&[at(0.0, 4.0), at(20.0, 4.0)], 0).unwrap();
        assert!((report.predicted[0].1 - 81e6).abs() < 1e-3, "{report:?}");
        assert_eq!(distance_report(&[at(0.0, 1.0)], 0), None);
    }

    #[test]
    fn distance_is_the_option_of_the_url() {
        let near = "nfs://nas/x?uid=1".to_owned();
        assert_eq!(without_distance("nfs://nas/x?uid=1&far=20ms"), Some((near.clone(), 20e6)));
        assert_eq!(without_distance("nfs://nas/x?far=0&uid=1"), Some((near, 0.0)));
        assert_eq!(without_distance("smb://nas/s?far=5ms"), Some(("smb://nas/s".to_owned(), 5e6)));
        assert_eq!(without_distance("smb://nas/s"), Some(("smb://nas/s".to_owned(), 0.0)));
        assert_eq!(without_distance("smb://nas/s?far=5ms/1Mbit"), None);
    }
}
