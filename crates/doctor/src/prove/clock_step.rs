//! K20: setting the wall clock back does not touch a measured time.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use sharebench_model::units::show_nanos;

use crate::prove::rig::{Rig, executed_ns, mean_ns, median_ns, reading, run_one};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const HOUR_S: i64 = 3600;
const SERVICE: Duration = Duration::from_millis(2);
const SAMPLE: Duration = Duration::from_secs(2);

/// K20: the clock of this machine is an hour late for a second of the run.
pub(super) fn attack(conditions: Conditions) -> Result<Attempt, ProveError> {
    if !conditions.step_clock {
        return Err(ProveError::Missing(
            "it sets this machine's wall clock back by an hour for one second; allow it by --step-clock (root)".into(),
        ));
    }
    let rig = Rig::fixed(SERVICE)?;
    let (step, attacked) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            std::thread::sleep(SAMPLE / 4);
            let attack = Stepped::back()?;
            std::thread::sleep(SAMPLE / 2);
            drop(attack);
            Ok::<(), ProveError>(())
        });
        (run_one(reading(SAMPLE, 1), &[rig.target()]), attacker.join())
    });
    attacked.map_err(|_| ProveError::Run("the attacker panicked".into()))??;
    let measure = step?.measure;
    let reads = rig.take_reads();
    let rate = measure.operation_rate().unwrap_or_default();
    let executed = 1e9 / mean_ns(reads.iter().map(executed_ns));
    let off = rate / executed - 1.0;
    let (client, server) = (measure.service.quantile(0.5), median_ns(reads.iter().map(executed_ns)));
    let longest = measure.service.max();
    let shown = |ns: u64| show_nanos(ns as f64);
    Ok(vec![
        Row::new(
            "rate as executed",
            format!("{executed:.2}/s"),
            format!("{rate:.2}/s ({:+.2} %)", off * 100.0),
            "10 %",
            off.abs() <= 0.1,
        ),
        Row::new("p50", shown(server), shown(client), "150 us", client.abs_diff(server) <= 150_000),
        Row::new("longest operation", "below 1 s", shown(longest), "", longest < 1_000_000_000),
        Row::new(
            "operations",
            reads.len().to_string(),
            measure.operations.to_string(),
            "0",
            reads.len() as u64 == measure.operations,
        ),
    ]
    .into())
}

/// The wall clock an hour back; forward again when dropped.
struct Stepped;

impl Stepped {
    fn back() -> Result<Self, ProveError> {
        step(-HOUR_S).map_err(|error| ProveError::Missing(format!("the clock cannot be set: {error}")))?;
        Ok(Self)
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        // It could be set a moment ago; if it cannot now, there is nobody left to tell.
        let _ = step(HOUR_S);
    }
}

fn step(seconds: i64) -> rustix::io::Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    clock_settime(ClockId::Realtime, Timespec { tv_sec: now.tv_sec + seconds, ..now })
}
