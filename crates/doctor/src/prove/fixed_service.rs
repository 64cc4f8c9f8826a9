//! Known answers K1 and K2 (docs/measure/measurement-rules.md K1, K2): a device of fixed service time, and a link of fixed
//! rate.

use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_server::{DeviceOptions, ServiceTime};

use crate::prove::fixture::{Fixture, executed_ns, mean_ns, median_ns, reading, run_one, streaming};
use crate::prove::socket_baseline::{SocketBaseline, SocketPair, Tolerance};
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Tolerance of K1: 150 us for the server's sleep and 150 us for the network path in the median, 2 % of 10 ms in the mean.
const TOLERANCE: Tolerance =
    Tolerance { late_p50: 150_000, path_p50: 150_000, path_mean: 200e3, both_p50: u64::MAX };

/// K1: the client measures the times and the rate that the server executed.
pub(super) fn service_time(conditions: Conditions) -> Result<Attempt, ProveError> {
    let fixture = Fixture::serving(conditions.protocol, ServiceTime::Fixed(Duration::from_millis(10)), 1)?;
    let plan = reading(conditions.lasting(Duration::from_secs(3)), 1)?;
    let sockets = SocketPair::start()?;
    let step = run_one(plan, &[fixture.target()]);
    let baseline = sockets.stop();
    let step = step?;
    let reads = fixture.take_reads();

    let client = step.measure.service.quantile(0.5);
    let server = median_ns(reads.iter().map(executed_ns));
    let gap = client as f64 - server as f64;
    let rate = step.measure.operation_rate().unwrap_or_default();
    let executed = 1e9 / mean_ns(reads.iter().map(executed_ns));
    let off = rate / executed - 1.0;
    let shown = |ns: u64| show_nanos(ns as f64);
    let mut rows = vec![
        Row::new("p50", "10 ms", shown(client), "10.0-10.3 ms", (10_000_000..=10_300_000).contains(&client)),
        Row::new(
            "p50 over the server's log",
            shown(server),
            shown(client),
            "150 us",
            (0.0..=150e3).contains(&gap),
        ),
        Row::new(
            "rate as executed",
            format!("{executed:.2}/s"),
            format!("{rate:.2}/s ({:+.2} %)", off * 100.0),
            "2 %",
            off.abs() <= 0.02,
        ),
        Row::new(
            "operations",
            reads.len().to_string(),
            step.measure.operations.to_string(),
            "0",
            reads.len() as u64 == step.measure.operations,
        ),
    ];
    rows.extend(baseline.map(SocketBaseline::row));
    let counted = reads.len() as u64 == step.measure.operations;
    let attempt = Attempt::from(rows);
    let excuse =
        baseline.filter(|_| counted && !attempt.holds()).and_then(|baseline| baseline.excuse(TOLERANCE));
    Ok(Attempt { noise: excuse, ..attempt })
}

/// K2: the throughput of a link reaches its rate and never exceeds it.
pub(super) fn link(conditions: Conditions) -> Result<Attempt, ProveError> {
    let device = DeviceOptions { bytes_per_s: Some(50_000_000), ..DeviceOptions::default() };
    let fixture = Fixture::start(conditions.protocol, device)?;
    let step = run_one(streaming(conditions.lasting(Duration::from_secs(5)), 4)?, &[fixture.target()])?;
    let rate = step.measure.throughput().unwrap_or_default() / 1e6;
    let bytes: u64 = fixture.take_reads().iter().map(|read| read.len).sum();
    Ok(vec![
        Row::new(
            "throughput",
            "50 MB/s",
            format!("{rate:.3} MB/s"),
            "3 %",
            (rate / 50.0 - 1.0).abs() <= 0.03,
        ),
        Row::new("never above", "50 MB/s", format!("{rate:.3} MB/s"), "0.5 %", rate <= 50.25),
        Row::new(
            "bytes",
            bytes.to_string(),
            step.measure.bytes.read.to_string(),
            "0",
            bytes == step.measure.bytes.read,
        ),
    ]
    .into())
}
