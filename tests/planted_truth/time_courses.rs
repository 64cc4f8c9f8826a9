//! Two servers of which the second one changes over time: it stops, it slows down again and again, or it uses up a burst.

use std::time::Duration;

use sharebench_analysis::TimeFindingKind;
use sharebench_simulated::Device;

use crate::properties::{MIB, Property, Truth, usual};

/// A pattern over time of the second server.
#[derive(Debug, Clone, Copy)]
pub struct PlantedPattern {
    pub kind: TimeFindingKind,
    /// Start of the first slow part in seconds of the run, where the instant is planted.
    pub start_s: Option<f64>,
    /// Bytes before the slow part, where these are planted. A finding states those of measured steps, which are fewer.
    pub start_bytes: Option<f64>,
    /// Length of a slow part in seconds; none where it lasts to the end of the run.
    pub length_s: Option<f64>,
    /// Time from one slow part to the next.
    pub period_s: Option<f64>,
}

const NONE: PlantedPattern = PlantedPattern {
    kind: TimeFindingKind::Outage,
    start_s: None,
    start_bytes: None,
    length_s: None,
    period_s: None,
};

/// Cells of which a run takes some tens of seconds.
const LONG: &str = "[sweep]\nfile_sizes = ['1MiB', '4MiB']\nrecord_sizes = ['4KiB', '16KiB', '64KiB']\n";
/// Fewer cells, for a pattern whose spread takes all 60 repetitions.
const FEW: &str =
    "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB', '64KiB']\ntests = ['read', 'rewrite']\n";
/// Cells of which one repetition is a fraction of the burst.
const SMALL: &str = "[sweep]\nfile_sizes = ['1MiB']\nrecord_sizes = ['4KiB', '8KiB']\n";

fn course(
    name: &'static str,
    sections: &str,
    pattern: PlantedPattern,
    change: impl Fn(Device) -> Device + Sync + 'static,
) -> Property {
    Property {
        name,
        sections: sections.to_owned(),
        devices: Box::new(move |seed| vec![usual(2 * seed), change(usual(2 * seed + 1))]),
        truth: Truth::Time(pattern),
        falls: false,
        exact: false,
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn time_courses() -> Vec<Property> {
    let outage = PlantedPattern { start_s: Some(10.0), length_s: Some(8.0), ..NONE };
    let burst =
        PlantedPattern { kind: TimeFindingKind::LevelChange, start_bytes: Some((64 * MIB) as f64), ..NONE };
    let flush = PlantedPattern {
        kind: TimeFindingKind::PeriodicStall,
        length_s: Some(0.6),
        period_s: Some(5.0),
        ..NONE
    };
    let half = PlantedPattern {
        kind: TimeFindingKind::AlternatingSpeed,
        length_s: Some(1.5),
        period_s: Some(3.0),
        ..NONE
    };
    vec![
        course("outage of 8 s", LONG, outage, |device| device.stalled(10_000_000_000, s(8))),
        course("burst of 64 MiB, then 47 % of the speed", SMALL, burst, |device| {
            device.slower_after(64 * MIB, 1.0 / 0.47)
        }),
        course("flush of 0.6 s every 5 s", LONG, flush, |device| device.stopped_every(s(5), ms(600))),
        course("half the speed for 1.5 s of every 3 s", FEW, half, |device| {
            device.slower_every(s(3), ms(1500), 2.0)
        }),
    ]
}
