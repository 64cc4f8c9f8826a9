//! Which clock the times of a run come from: reported, or inferred from the times themselves (K17).

use sharebench_model::units::counted;
use sharebench_model::{RateBase, StepResult};
use sharebench_stats::{Quantum, TimeRange, clock_quanta};

use crate::types::RunData;

/// Clocks within this factor are one and the same.
const SAME: f64 = 1.02;

/// A run's clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// Resolution in nanoseconds that intervals are widened by; none where nothing is known.
    pub resolution_ns: Option<f64>,
    /// What the run tells of it.
    pub reported_ns: Option<f64>,
    /// Ticks that the printed times show, the printing first.
    pub found: Vec<Quantum>,
    /// How many times were looked at.
    pub times: usize,
}

impl Clock {
    /// Looks at a run. Times of our own are read from a clock whose step is known; only told rates are judged.
    pub fn of(run: &RunData) -> Self {
        let times = if run.header.is_imported() { told_times(&run.steps) } else { Vec::new() };
        let found = clock_quanta(&times);
        let reported_ns = run.clock_reported_ns();
        let betrayed = found.last().map(|quantum| quantum.seconds * 1e9);
        Self { resolution_ns: reported_ns.or(betrayed), reported_ns, found, times: times.len() }
    }

    /// What the times show, where they show anything.
    pub fn words(&self) -> Option<String> {
        let tick = self.found.last()?;
        let printed = if self.found.len() > 1 {
            format!(", printed in steps of {}", milliseconds(self.found[0].seconds))
        } else {
            String::new()
        };
        let told = match self.reported_ns {
            None => ": taken for the clock's resolution, which is not told".to_owned(),
            Some(told) if within(told, tick.seconds * 1e9) => ", as told".to_owned(),
            Some(told) => format!(", although {} is told", milliseconds(told / 1e9)),
        };
        Some(format!(
            "{:.0} % of {} are whole ticks of {}{printed} ({:.0} % of any times would be){told}",
            tick.share * 100.0,
            counted(self.times, "time"),
            milliseconds(tick.seconds),
            tick.by_chance * 100.0,
        ))
    }

    /// True when the times contradict what is told of the clock: they are coarser.
    pub fn is_contradicted(&self) -> bool {
        let coarser = |tick: &Quantum| self.reported_ns.is_some_and(|told| tick.seconds * 1e9 > told * SAME);
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

/// The times behind told rates: whole numbers of bytes or of KiB per second.
fn told_times(steps: &[StepResult]) -> Vec<TimeRange> {
    let told: Vec<(f64, u64)> = steps
        .iter()
        .filter_map(|step| match step.measure.rate_base {
            RateBase::Reported { milli } if step.measure.bytes.total() > 0 && milli > 0 => {
                Some((step.measure.bytes.total() as f64, milli))
            }
            _ => None,
        })
        .collect();
    let unit = if told.iter().all(|(_, milli)| milli.is_multiple_of(1024 * 1000)) { 1024.0 } else { 1.0 };
    // Rates that were not printed as whole numbers say more than a tick could.
    let whole = |(_, milli): &&(f64, u64)| unit > 1.0 || milli.is_multiple_of(1000);
    let range = |(bytes, milli): &(f64, u64)| TimeRange::of_rate(bytes / unit, *milli as f64 / 1e3 / unit);
    told.iter().filter(whole).map(range).collect()
}
