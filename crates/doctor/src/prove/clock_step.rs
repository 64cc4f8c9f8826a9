//! Known answer K20 (docs/measure/measurement-rules.md K20): setting the wall clock back does not change a measured time.

use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_server::ServiceTime;

use crate::prove::fixture::{Fixture, executed_ns, reading, run_one};
use crate::prove::wall_clock::{HOUR_S, SteppedClock};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const SERVICE: Duration = Duration::from_millis(20);
const SAMPLE: Duration = Duration::from_secs(2);
/// A time that includes the step is an hour longer, or zero. A slow machine adds less than this.
const MINUTE_NS: u64 = 60_000_000_000;

/// K20: the wall clock is an hour slow during one second of the run.
pub(super) fn set_back(conditions: Conditions) -> Result<Attempt, ProveError> {
    if !conditions.step_clock {
        return Err(ProveError::Missing(
            "it sets this machine's wall clock back by an hour for one second; allow it with --step-clock (as root)".into(),
        ));
    }
    let fixture = Fixture::serving(conditions.protocol, ServiceTime::Fixed(SERVICE), 1)?;
    let (step, moved) = std::thread::scope(|scope| {
        let clock_setter = scope.spawn(|| {
            std::thread::sleep(SAMPLE / 4);
            let stepped = SteppedClock::set_back()?;
            std::thread::sleep(SAMPLE / 2);
            Ok::<i64, ProveError>(stepped.moved_s)
        });
        (reading(SAMPLE, 1).and_then(|plan| run_one(plan, &[fixture.target()])), clock_setter.join())
    });
    let moved = moved.map_err(|_| ProveError::Run("the clock setter panicked".into()))??;
    let measure = step?.measure;
    let reads = fixture.take_reads();
    // The server's log uses a monotonic clock too. An hour would be visible in any of these values.
    let executed = reads.iter().map(executed_ns).sum::<u64>();
    let busy = measure.busy_ns;
    let longest = measure.service.max();
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
