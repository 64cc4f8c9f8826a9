//! K3 and K6: starts that a schedule decides, whatever the server does.

use std::time::Duration;

use sharebench_model::Histogram;
use sharebench_model::units::show_nanos;
use sharebench_server::{DeviceRecord, ServiceTime};

use crate::prove::rig::{Rig, executed_ns, mean_ns, median_ns, run_one, single_reads};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const SERVICE: Duration = Duration::from_millis(1);
/// Enough that hardly any start waits for a free one.
const MOTORS: u32 = 60;

/// K3: one server of exponential service, half, seven tenths and nine tenths loaded.
pub(super) fn random_arrivals(conditions: Conditions) -> Result<Attempt, ProveError> {
    let measure = conditions.lasting(Duration::from_secs(8));
    let mut rows = Vec::new();
    for (rate, theory) in [(500, Some(2.0)), (700, Some(1.0 / 0.3)), (900, None)] {
        let service = ServiceTime::Exponential { mean: SERVICE, seed: 3 };
        let rig = Rig::serving(service, MOTORS)?;
        let pace = format!(
            "steps = [{MOTORS}]\narrivals = 'poisson'\nrates = [{rate}]\nwarm_up = '0s'\nmeasure = '{measure:?}'"
        );
        let step = run_one(single_reads(&pace)?, &[rig.target()])?;
        rows.extend(queue(rate, &step.measure.response, &rig.take_reads(), theory));
    }
    Ok(rows.into())
}

fn queue(rate: u32, response: &Histogram, reads: &[DeviceRecord], theory: Option<f64>) -> Vec<Row> {
    let name = |what: &str| format!("{rate}/s: {what}");
    let (mean, median) = (response.mean(), response.quantile(0.5) as f64);
    let executed = mean_ns(reads.iter().map(executed_ns));
    let executed_median = median_ns(reads.iter().map(executed_ns)) as f64;
    let off = mean - executed;
    let mut rows = vec![
        Row::new(
            name("mean over the server's log"),
            show_nanos(executed),
            show_nanos(mean),
            "2 % or 100 us",
            off.abs() <= (executed * 0.02).max(100e3),
        ),
        Row::new(
            name("p50 over the server's log"),
            show_nanos(executed_median),
            show_nanos(median),
            "150 us",
            (median - executed_median).abs() <= 150e3,
        ),
    ];
    if let Some(services) = theory {
        // The device's own arithmetic is Lindley's recursion over the arrivals and services it met.
        let lindley = median_ns(reads.iter().map(|read| read.due_ns - read.received_ns)) as f64;
        let holds = (median / lindley - 1.0).abs() <= 0.1;
        rows.push(Row::new(name("p50 by Lindley"), show_nanos(lindley), show_nanos(median), "10 %", holds));
        let truth = services * SERVICE.as_nanos() as f64;
        let holds = (mean / truth - 1.0).abs() <= 0.2;
        rows.push(Row::new(name("mean by theory"), show_nanos(truth), show_nanos(mean), "20 %", holds));
    }
    rows
}

const STALL: Duration = Duration::from_secs(1);
/// Between starts: 500 a second.
const GAP_NS: u64 = 2_000_000;

/// K6: everyone who was to start in a stall is charged for it. Its length and the window's belong together, so
/// that being in a hurry shortens neither.
pub(super) fn stall(_: Conditions) -> Result<Attempt, ProveError> {
    let rig = Rig::serving(ServiceTime::Fixed(SERVICE), 1)?;
    let pace = "steps = [1]\narrivals = 'constant'\nrates = [500]\nwarm_up = '0s'\nmeasure = '20s'";
    let plan = single_reads(pace)?;
    let step = std::thread::scope(|scope| {
        let runner = scope.spawn(|| run_one(plan, &[rig.target()]));
        // Nothing reads before the window begins.
        while rig.device().counters().reads == 0 && !runner.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_secs(8));
        rig.device().stall(STALL);
        runner.join()
    });
    let step = step.map_err(|_| ProveError::Run("the run panicked".into()))??;
    let (response, naive) = (&step.measure.response, &step.measure.service);
    let at = |histogram: &Histogram, quantile| histogram.quantile(quantile) as f64 / 1e6;
    let (p95, p99, naive_p99) = (at(response, 0.95), at(response, 0.99), at(naive, 0.99));
    let filled = at(&back_filled(&rig.take_reads()), 0.99);
    let shown = |ms: f64| format!("{ms:.1} ms");
    Ok(vec![
        Row::new(
            "p99 from the intended start",
            "900 ms",
            shown(p99),
            "5 %",
            (p99 / 900.0 - 1.0).abs() <= 0.05,
        ),
        Row::new(
            "p95 from the intended start",
            "500 ms",
            shown(p95),
            "450-600 ms",
            (450.0..=600.0).contains(&p95),
        ),
        Row::new(
            "p99 without the wait (naive)",
            "blind",
            shown(naive_p99),
            "at most 10 ms",
            naive_p99 <= 10.0,
        ),
        Row::new("p99 naive and back-filled", "790 ms", shown(filled), "shown beside", true),
    ]
    .into())
}

/// What HdrHistogram's correction by the expected interval makes of what the only connection saw.
fn back_filled(reads: &[DeviceRecord]) -> Histogram {
    let mut filled = Histogram::new();
    for nanos in reads.iter().map(executed_ns) {
        filled.record(nanos);
        let mut missed = nanos;
        while missed >= 2 * GAP_NS {
            missed -= GAP_NS;
            filled.record(missed);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use sharebench_server::{DeviceRequest, NodeId};

    use super::*;

    fn read(service_ns: u64) -> DeviceRecord {
        let (node, request) = (NodeId(2), DeviceRequest::Read);
        DeviceRecord {
            received_ns: 0,
            due_ns: service_ns,
            ended_ns: service_ns,
            service_ns,
            node,
            offset: 0,
            len: 4096,
            request,
            hit: false,
        }
    }

    #[test]
    fn back_filling_adds_those_that_were_never_sent() {
        let filled = back_filled(&[read(7_000_000), read(1_000_000)]);
        // 7, then 5 and 3 for those who would have started meanwhile; 1 would be less than the gap.
        assert_eq!((filled.len(), filled.max() / 100_000), (4, 70));
        assert_eq!(filled.quantile(0.5) / 100_000, 30);
    }
}
