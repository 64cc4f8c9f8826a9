//! Which clock the times of a run come from: reported, or inferred from the times themselves (K17).

use sharebench_model::units::{counted, percent};
use sharebench_model::{RateBase, StepResult};
use sharebench_stats::{Quantum, TimeRange, clock_quanta};

use crate::types::RunData;

/// Clocks within this factor are one and the same.
const SAME: f64 = 1.02;

/// A run's clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// Resolution in nanoseconds by which intervals are widened; none if it is unknown.
    pub resolution_ns: Option<f64>,
    /// Resolution that the run reports.
    pub reported_ns: Option<f64>,
    /// Ticks that the printed times fit; the tick of the printing first.
    pub found: Vec<Quantum>,
    /// Number of times examined.
    pub times: usize,
}

impl Clock {
    /// Infers the clock of a run. Own runs report the resolution; of imported runs the printed rates are examined.
    pub fn from_run(run: &RunData) -> Self {
        let times = if run.header.is_imported() { reported_times(&run.steps) } else { Vec::new() };
        let found = clock_quanta(&times);
        let reported_ns = run.clock_reported_ns();
        let inferred = found.last().map(|quantum| quantum.seconds * 1e9);
        Self { resolution_ns: reported_ns.or(inferred), reported_ns, found, times: times.len() }
    }

    /// The lowest rate that a time of this length allows: it may be longer by one tick than the clock shows.
    pub fn lowest_rate(&self, rate: f64, time_ns: f64) -> f64 {
        rate * time_ns / (time_ns + self.resolution_ns.unwrap_or(0.0))
    }

    /// The inferred tick in words, if there is one.
    pub fn words(&self) -> Option<String> {
        let tick = self.found.last()?;
        let printed = if self.found.len() > 1 {
            format!(", printed in steps of {}", milliseconds(self.found[0].seconds))
        } else {
            String::new()
        };
        let reported = match self.reported_ns {
            None => ": taken as the clock's resolution, which is not stated".to_owned(),
            Some(reported) if within(reported, tick.seconds * 1e9) => ", as stated".to_owned(),
            Some(reported) => format!(", although {} is stated", milliseconds(reported / 1e9)),
        };
        Some(format!(
            "{} of {} are whole ticks of {}{printed} ({} of arbitrary times would be){reported}",
            percent(tick.share, 0),
            counted(self.times, "time"),
            milliseconds(tick.seconds),
            percent(tick.by_chance, 0),
        ))
    }

    /// True if the times are coarser than the reported resolution.
    pub fn is_contradicted(&self) -> bool {
        let coarser =
            |tick: &Quantum| self.reported_ns.is_some_and(|reported| tick.seconds * 1e9 > reported * SAME);
        self.found.last().is_some_and(coarser)
    }
}

fn within(a: f64, b: f64) -> bool {
    a / b < SAME && b / a < SAME
}

fn milliseconds(seconds: f64) -> String {
    let text = format!("{:.3}", seconds * 1e3);
    format!("{} ms", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The times from which reported rates were computed: whole numbers of bytes or of KiB per second.
fn reported_times(steps: &[StepResult]) -> Vec<TimeRange> {
    let reported: Vec<(f64, u64)> = steps
        .iter()
        .filter_map(|step| match step.measure.rate_base {
            RateBase::Reported { milli } if step.measure.bytes.total() > 0 && milli > 0 => {
                Some((step.measure.bytes.total() as f64, milli))
            }
            _ => None,
        })
        .collect();
    let unit = if reported.iter().all(|(_, milli)| milli.is_multiple_of(1024 * 1000)) { 1024.0 } else { 1.0 };
    // Rates that are not whole numbers are more precise than a tick.
    let whole = |(_, milli): &&(f64, u64)| unit > 1.0 || milli.is_multiple_of(1000);
    let range = |(bytes, milli): &(f64, u64)| TimeRange::of_rate(bytes / unit, *milli as f64 / 1e3 / unit);
    reported.iter().filter(whole).map(range).collect()
}
