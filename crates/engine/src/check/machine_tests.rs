//! The checks of the machine on readings whose meaning is known.

use std::time::Duration;

use sharebench_model::units::BitRate;
use sharebench_model::{Histogram, IoBytes, RateBase};
use sharebench_plan::{RecordWork, Test};

use super::*;

const QUIET: Health = Health {
    span_ns: 1_000_000_000,
    worst_stall_ns: 2_000_000,
    stalled_ns: 4_000_000,
    overshoot_ns: Some(20_000),
    steal: Some(0.001),
    pressure: Some(0.03),
};

fn work() -> Work {
    let sample = Duration::from_millis(200);
    Work::Records(RecordWork::new(Test::Read, 1 << 20, 4096, sample))
}

/// 1000 operations of 100 us, together 12.5 MB in a tenth of a second: 1 Gbit/s.
fn measure() -> Measure {
    let mut service = Histogram::new();
    service.record_n(100_000, 1000);
    let bytes = IoBytes { read: 12_500_000, written: 0 };
    Measure {
        operations: 1000,
        bytes,
        service,
        busy_ns: 100_000_000,
        rate_base: RateBase::Busy,
        ..Measure::default()
    }
}

fn machinery(link: &Link) -> MachineReadings<'_> {
    MachineReadings {
        health: Some(QUIET),
        clock: ClockFacts { resolution_ns: 25, cost_ns: 50 },
        link,
        ceiling: Some(40_000.0),
        busiest: Some(0.3),
        blocking: false,
    }
}

fn verdict_of(reported: &[Check], name: &str) -> Verdict {
    reported.iter().find(|check| check.name == name).unwrap().verdict
}

#[test]
fn a_quiet_machine_passes_every_check() {
    let link = Link::Rate { rate: BitRate(10_000_000_000), source: "eth0".into() };
    let reported = checks(&measure(), &work(), &machinery(&link));
    let names: Vec<&str> = reported.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["link", "ceiling", "threads", "pressure", "steal", "hiccups", "clock"]);
    assert!(reported.iter().all(|check| check.verdict == Verdict::Valid), "{reported:#?}");
}

#[test]
fn each_reading_beyond_its_limit_trips_its_own_check() {
    type Spoil = fn(&mut MachineReadings<'_>);
    let cases: [(&str, Spoil); 10] = [
        ("ceiling", |m| m.ceiling = Some(29_000.0)),
        ("threads", |m| m.busiest = Some(0.71)),
        ("pressure", |m| m.health.as_mut().unwrap().pressure = Some(0.11)),
        ("steal", |m| m.health.as_mut().unwrap().steal = Some(0.021)),
        ("hiccups", |m| m.health.as_mut().unwrap().worst_stall_ns = 20_100_000),
        ("hiccups", |m| m.health.as_mut().unwrap().stalled_ns = 10_100_000),
        ("hiccups", |m| m.health.as_mut().unwrap().span_ns = 399_000_000),
        ("clock", |m| m.clock.cost_ns = 1_001),
        ("clock", |m| m.clock.resolution_ns = 500_001),
        ("clock", |m| m.clock.resolution_ns = 54_925_000),
    ];
    for (name, spoil) in cases {
        let mut machinery = machinery(&Link::None);
        spoil(&mut machinery);
        for check in checks(&measure(), &work(), &machinery) {
            let expected = if check.name == name { Verdict::Warning } else { Verdict::Valid };
            assert_eq!(check.verdict, expected, "{name}: {check:?}");
        }
    }
}

#[test]
fn what_was_not_read_is_not_known_and_never_fine() {
    let link = Link::NotKnown("loopback has no rate".into());
    let mut blind = machinery(&link);
    (blind.health, blind.ceiling, blind.busiest) = (None, None, None);
    let reported = checks(&measure(), &work(), &blind);
    for name in ["link", "ceiling", "threads", "pressure", "steal", "hiccups"] {
        assert_eq!(verdict_of(&reported, name), Verdict::NotKnown, "{name}");
    }
    let half = Health { steal: None, pressure: None, ..QUIET };
    let reported = checks(&measure(), &work(), &MachineReadings { health: Some(half), ..blind });
    assert_eq!(
        [verdict_of(&reported, "pressure"), verdict_of(&reported, "hiccups")],
        [Verdict::NotKnown, Verdict::Valid]
    );
}

#[test]
fn speeds_above_the_link_are_impossible_and_near_it_are_the_link_s() {
    // The article of 1993: 8.07 MB/s over 10 Mbit/s.
    for (rate, word) in [("10Mbit", "impossible"), ("1.2Gbit", "the link, not the server"), ("2Gbit", "")] {
        let link = Link::Rate { rate: rate.parse().unwrap(), source: "--link".into() };
        let reported = checks(&measure(), &work(), &machinery(&link));
        let reported = reported.iter().find(|check| check.name == "link").unwrap();
        assert!(reported.detail.contains(word) && reported.detail.contains("--link"), "{reported:?}");
        assert_eq!(reported.verdict == Verdict::Warning, !word.is_empty(), "{reported:?}");
    }
}
