//! Known answer K21 (docs/measure/measurement-rules.md K21): requests in flight that a device serves at the same time.

use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_server::{DeviceOptions, ServiceTime};

use crate::prove::fixture::{Fixture, executed_ns, mean_ns, run_one, streaming};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const SERVICE: Duration = Duration::from_millis(1);
/// Requests that the device serves at the same time, and the larger queue depth.
const SERVERS: u32 = 8;
/// Least throughput at that depth, compared with one request in flight.
const MIN_GAIN: f64 = 7.8;

/// K21: a queue depth of 8 at a device with 8 servers has 8 times the throughput of depth 1.
pub(super) fn queue_depth(conditions: Conditions) -> Result<Attempt, ProveError> {
    let mut rates = Vec::new();
    let mut rows = Vec::new();
    for depth in [1, SERVERS] {
        let service = ServiceTime::Fixed(SERVICE);
        let device = DeviceOptions { service, servers: SERVERS as usize, ..DeviceOptions::default() };
        let fixture = Fixture::start(conditions.protocol, device)?;
        let plan = streaming(conditions.lasting(Duration::from_secs(3)), depth)?;
        let step = run_one(plan, &[fixture.target()])?;
        let reads = fixture.take_reads();
        let rate = step.measure.operation_rate().unwrap_or_default();
        let executed = mean_ns(reads.iter().map(executed_ns));
        rows.push(Row::new(
            format!("depth {depth}: operations at {} as executed", show_nanos(executed)),
            reads.len().to_string(),
            step.measure.operations.to_string(),
            "0",
            reads.len() as u64 == step.measure.operations,
        ));
        rates.push(rate);
    }
    let [one, several] = [rates.first(), rates.last()].map(|rate| rate.copied().unwrap_or_default());
    let gain = several / one;
    rows.push(Row::new(
        format!("rate at depth {SERVERS} over depth 1"),
        SERVERS.to_string(),
        format!("{gain:.2} ({one:.0}/s, {several:.0}/s)"),
        format!("at least {MIN_GAIN}"),
        gain >= MIN_GAIN,
    ));
    Ok(rows.into())
}
