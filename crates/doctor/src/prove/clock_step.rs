//! Known answer K20 (docs/measurement-rules.md K20): setting the wall clock back does not touch a measured time.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use sharebench_model::units::show_nanos;
use sharebench_server::ServiceTime;

use crate::prove::rig::{Rig, executed_ns, reading, run_one};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const HOUR_S: i64 = 3600;
const SERVICE: Duration = Duration::from_millis(20);
const SAMPLE: Duration = Duration::from_secs(2);
/// A time that met the step is an hour longer, or nothing. What a slow machine adds is less than this.
const MINUTE_NS: u64 = 60_000_000_000;

/// K20: the clock of this machine is an hour late for a second of the run.
pub(super) fn attack(conditions: Conditions) -> Result<Attempt, ProveError> {
    if !conditions.step_clock {
        return Err(ProveError::Missing(
            "it sets this machine's wall clock back by an hour for one second; allow it by --step-clock (root)".into(),
        ));
    }
    let rig = Rig::serving(ServiceTime::Fixed(SERVICE), 1)?;
    let (step, attacked) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            std::thread::sleep(SAMPLE / 4);
            let attack = Stepped::back()?;
            std::thread::sleep(SAMPLE / 2);
            Ok::<i64, ProveError>(attack.moved_s)
        });
        (reading(SAMPLE, 1).and_then(|plan| run_one(plan, &[rig.target()])), attacker.join())
    });
    let moved = attacked.map_err(|_| ProveError::Run("the attacker panicked".into()))??;
    let (measure, reads) = (step?.measure, rig.take_reads());
    // The server's log is read from a monotonic clock too; an hour would be seen in any of these.
    let executed = reads.iter().map(executed_ns).sum::<u64>();
    let (busy, longest) = (measure.busy_ns, measure.service.max());
    let holds = |ns: u64, truth: u64| ns >= truth / 5 * 4 && ns < truth + MINUTE_NS;
    let shown = |ns: u64| show_nanos(ns as f64);
    Ok(vec![
        Row::new(
            "wall clock set back by",
            format!("{HOUR_S} s"),
            format!("{moved} s"),
            "2 s",
            moved.abs_diff(HOUR_S) <= 2,
        ),
        Row::new("measured time", shown(executed), shown(busy), "-20 %, +1 min", holds(busy, executed)),
        Row::new(
            "longest operation",
            shown(SERVICE.as_nanos() as u64),
            shown(longest),
            "-20 %, +1 min",
            holds(longest, SERVICE.as_nanos() as u64),
        ),
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
struct Stepped {
    /// How far it was seen to move.
    moved_s: i64,
}

impl Stepped {
    fn back() -> Result<Self, ProveError> {
        let before = clock_gettime(ClockId::Realtime).tv_sec;
        step(-HOUR_S).map_err(|error| ProveError::Missing(format!("the clock cannot be set: {error}")))?;
        Ok(Self { moved_s: before - clock_gettime(ClockId::Realtime).tv_sec })
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
