//! The bookkeeping checks on measures whose truth is known.

use std::time::Duration;

use sharebench_model::{Histogram, IoBytes, WireCount};
use sharebench_plan::{RecordWork, Test, Think, Workload};

use super::*;

fn records(depth: u32) -> Work {
    let sample = Duration::from_millis(200);
    Work::Records(RecordWork { queue_depth: depth, ..RecordWork::new(Test::Read, 1 << 20, 4096, sample) })
}

fn users(users: u32) -> Work {
    let pace = Pace::Closed(Think::Constant(Duration::from_millis(20)));
    let workload = Workload::from_preset("copy", 100_000, 1000).unwrap().into();
    let warm_up = Duration::ZERO;
    let measure = Duration::from_secs(10);
    Work::Transactions(TransactionWork {
        workload,
        users,
        users_per_session: 1,
        pace,
        ramp: None,
        warm_up,
        measure,
        max_extensions: 0,
    })
}

fn times(count: u64, nanos: u64) -> Histogram {
    let mut histogram = Histogram::new();
    histogram.record_n(nanos, count);
    histogram
}

/// A step of 1000 verified reads of 4 KiB at `depth`, 1 ms each.
fn reads(depth: u32) -> Measure {
    let bytes = 4096 * 1000;
    Measure {
        operations: 1000,
        transactions: 1000,
        bytes: IoBytes { read: bytes, written: 0 },
        verified: bytes,
        wire: Some(WireCount { requests: 1000, payload_received: bytes, ..WireCount::default() }).into(),
        service: times(1000, 1_000_000),
        busy_ns: 1_000_000_000 / u64::from(depth),
        window_ns: 1_100_000_000 / u64::from(depth),
        users_assigned: 1,
        users_reported: 1,
        ..Measure::default()
    }
}

/// Verdict of each check by name, on a machine that nothing is known of.
fn verdicts(measure: &Measure, work: &Work, occupancy: Occupancy) -> Vec<(String, Verdict)> {
    let evidence =
        StepEvidence { work, verify: Verify::Stamps, wire_counted: true, occupancy, machinery: None };
    checks(measure, &evidence).into_iter().map(|check| (check.name.clone(), check.verdict)).collect()
}

#[test]
fn a_correct_cell_passes_and_lists_every_check() {
    let reported = verdicts(&reads(4), &records(4), Occupancy::default());
    let names: Vec<&str> = reported.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["errors", "bytes", "verified", "little", "depth", "participation", "censored"]);
    assert!(reported.iter().all(|(_, verdict)| *verdict == Verdict::Valid), "{reported:?}");
}

#[test]
fn each_fault_trips_its_own_check_and_no_other() {
    type Spoil = fn(&mut Measure);
    let cases: [(&str, Verdict, Spoil); 12] = [
        ("errors", Verdict::Invalid, |m| m.errors.extend([(ErrorClass::Timeout, 1)])),
        ("errors", Verdict::Warning, |m| m.errors.extend([(ErrorClass::Busy, 3)])),
        ("bytes", Verdict::Invalid, |m| m.wire.as_mut().unwrap().payload_received -= 1),
        ("bytes", Verdict::Warning, |m| m.wire.as_mut().unwrap().payload_received += 1),
        ("bytes", Verdict::Warning, |m| m.wire.as_mut().unwrap().payload_sent += 1),
        ("verified", Verdict::Warning, |m| m.verified -= 512),
        ("little", Verdict::Warning, |m| m.busy_ns = m.busy_ns * 97 / 100),
        ("little", Verdict::NotKnown, |m| m.busy_ns = 0),
        ("depth", Verdict::Warning, |m| m.busy_ns = m.busy_ns * 112 / 100),
        ("participation", Verdict::Warning, |m| m.users_assigned = 2),
        ("censored", Verdict::Warning, |m| m.censored = 11),
        ("errors", Verdict::Valid, |m| m.censored = 10),
    ];
    for (name, verdict, spoil) in cases {
        let mut measure = reads(4);
        spoil(&mut measure);
        let reported = verdicts(&measure, &records(4), Occupancy::default());
        let wrong: Vec<_> =
            reported.iter().filter(|(_, verdict)| *verdict != Verdict::Valid).cloned().collect();
        let expected = if verdict == Verdict::Valid { vec![] } else { vec![(name.to_owned(), verdict)] };
        assert_eq!(wrong, expected);
    }
}

#[test]
fn the_interactive_law_counts_think_time_and_what_is_under_way() {
    // Exact mean value analysis, D = 2 ms, Z = 20 ms, N = 20: X = 499.07/s, R = 20.075 ms; 10 s.
    let count = 4991;
    let mut measure = Measure {
        operations: count,
        transactions: count,
        window_ns: 10_000_000_000,
        response: times(count, 20_075_000),
        service: times(count, 20_075_000),
        lag: times(count, 100_000),
        users_assigned: 20,
        users_reported: 20,
        ..Measure::default()
    };
    let thinking_ns = count * 20_000_000;
    let little = |measure: &Measure, occupancy| {
        let reported = verdicts(measure, &users(20), occupancy);
        reported.into_iter().find(|(name, _)| name == "little").unwrap().1
    };
    let whole = Occupancy { thinking_ns, ..Occupancy::default() };
    assert_eq!(little(&measure, whole), Verdict::Valid);
    assert_eq!(little(&measure, Occupancy::default()), Verdict::Warning, "measured, not planned, think time");
    // A second of one user is half a percent of 20 users for 10 s; five are missed.
    let lost = |users: u64| Occupancy { thinking_ns: thinking_ns - users * 1_000_000_000, ..whole };
    assert_eq!(little(&measure, lost(1)), Verdict::Valid);
    assert_eq!(little(&measure, lost(5)), Verdict::Warning);
    let found = Occupancy { unfinished_ns: 6_000_000_000, before_ns: 1_000_000_000, ..lost(5) };
    assert_eq!(little(&measure, found), Verdict::Valid);
    measure.transactions = 0;
    assert_eq!(little(&measure, whole), Verdict::NotKnown);
}

#[test]
fn late_starts_are_ours_beyond_a_tenth_of_the_median() {
    let lag = |service_ms: u64, late_ms: u64, late: u64| {
        let mut measure = Measure { service: times(1000, service_ms * 1_000_000), ..Measure::default() };
        measure.lag = times(1000 - late, 50_000);
        measure.lag.record_n(late_ms * 1_000_000, late);
        super::lag(&measure).verdict
    };
    assert_eq!(lag(5, 3, 5), Verdict::Valid, "half a percent may be late");
    assert_eq!(lag(5, 3, 20), Verdict::Warning);
    assert_eq!(lag(50, 3, 20), Verdict::Valid, "3 ms of 50 ms");
    assert_eq!(super::lag(&Measure::default()).verdict, Verdict::NotKnown);
}
