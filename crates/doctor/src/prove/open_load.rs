//! Known answers K3 and K6 (docs/measure/measurement-rules.md K3, K6): an open load, whose starts do not depend on the
//! server.

use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_model::{Histogram, Measure};
use sharebench_server::{DeviceRecord, ServiceTime};

use crate::prove::fixture::{Fixture, executed_ns, mean_ns, median_ns, run_one, single_reads};
use crate::prove::socket_baseline::{SocketBaseline, SocketPair, Tolerance};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const SERVICE: Duration = Duration::from_millis(1);
/// Enough users that hardly any start waits for a free one.
const USERS: u32 = 60;

/// Tolerance of K3 at the lowest load: 100 us for the network path in the mean and 150 us in the median, because the
/// server's log includes the sleep; 10 % of a median of 1.3 ms for a late start and the path together.
const TOLERANCE: Tolerance =
    Tolerance { late_p50: u64::MAX, path_p50: 150_000, path_mean: 100e3, both_p50: 130_000 };

/// K3: one server of exponential service time at 50, 70 and 90 % load.
pub(super) fn random_arrivals(conditions: Conditions) -> Result<Attempt, ProveError> {
    let measure = conditions.lasting(Duration::from_secs(8));
    let mut rows = Vec::new();
    let sockets = SocketPair::start()?;
    for (rate, theory) in [(500, Some(2.0)), (700, Some(1.0 / 0.3)), (900, None)] {
        let service = ServiceTime::Exponential { mean: SERVICE, seed: 3 };
        let fixture = Fixture::serving(conditions.protocol, service, USERS)?;
        let pace = format!(
            "users = [{USERS}]\narrivals = 'poisson'\nrates = [{rate}]\nwarm_up = '0s'\nmeasure = '{measure:?}'"
        );
        let step = run_one(single_reads(&pace)?, &[fixture.target()])?;
        let reads = fixture.take_reads();
        rows.extend(logged(rate, &step.measure, &reads));
        if let Some(services) = theory {
            rows.extend(predicted(rate, &step.measure, &reads, services));
        }
    }
    let baseline = sockets.stop();
    rows.extend(baseline.map(SocketBaseline::row));
    let attempt = Attempt::from(rows);
    let excuse = baseline.filter(|_| !attempt.holds()).and_then(|baseline| baseline.excuse(TOLERANCE));
    Ok(Attempt { noise: excuse, ..attempt })
}

/// Compares with the server's log. The log does not include the delay of late starts, so the comparison uses service
/// times, and a separate row contains the lateness of starts.
fn logged(rate: u32, measure: &Measure, reads: &[DeviceRecord]) -> [Row; 3] {
    let mean = measure.service.mean();
    let median = measure.service.quantile(0.5) as f64;
    let executed = mean_ns(reads.iter().map(executed_ns));
    let executed_median = median_ns(reads.iter().map(executed_ns)) as f64;
    let late = measure.lag.quantile(0.99) as f64;
    [
        Row::new(
            format!("{rate}/s: mean over the server's log"),
            show_nanos(executed),
            show_nanos(mean),
            "2 % or 100 us",
            (mean - executed).abs() <= (executed * 0.02).max(100e3),
        ),
        Row::new(
            format!("{rate}/s: p50 over the server's log"),
            show_nanos(executed_median),
            show_nanos(median),
            "150 us",
            (median - executed_median).abs() <= 150e3,
        ),
        Row::new(format!("{rate}/s: p99 of late starts"), "0", show_nanos(late), "1 ms", late <= 1e6),
    ]
}

/// Compares response times, which begin at the intended start, with queueing theory.
fn predicted(rate: u32, measure: &Measure, reads: &[DeviceRecord], services: f64) -> [Row; 2] {
    let mean = measure.response.mean();
    let median = measure.response.quantile(0.5) as f64;
    let lindley = median_ns(lindley(reads).into_iter()) as f64;
    let truth = services * SERVICE.as_nanos() as f64;
    let within = |measured: f64, truth: f64, share: f64| (measured / truth - 1.0).abs() <= share;
    [
        Row::new(
            format!("{rate}/s: p50 by Lindley"),
            show_nanos(lindley),
            show_nanos(median),
            "10 %",
            within(median, lindley, 0.1),
        ),
        Row::new(
            format!("{rate}/s: mean by theory"),
            show_nanos(truth),
            show_nanos(mean),
            "20 %",
            within(mean, truth, 0.2),
        ),
    ]
}

/// Returns the response times of a single server by Lindley's recursion, from the logged arrivals and the executed
/// services including the server's lateness.
fn lindley(reads: &[DeviceRecord]) -> Vec<u64> {
    let mut free = 0;
    let response = |read: &DeviceRecord| {
        let executed = read.service_ns + read.ended_ns.saturating_sub(read.due_ns);
        free = free.max(read.received_ns) + executed;
        free - read.received_ns
    };
    reads.iter().map(response).collect()
}

const STALL: Duration = Duration::from_secs(1);
/// Interval between starts: 500 per second.
const GAP_NS: u64 = 2_000_000;

/// K6: every start that was intended during a stall has a response time that includes the wait.
///
/// The expected quantiles depend on the ratio of stall and window, so that a quick run shortens neither.
pub(super) fn stall(conditions: Conditions) -> Result<Attempt, ProveError> {
    let fixture = Fixture::serving(conditions.protocol, ServiceTime::Fixed(SERVICE), 1)?;
    let pace = "users = [1]\narrivals = 'constant'\nrates = [500]\nwarm_up = '0s'\nmeasure = '20s'";
    let plan = single_reads(pace)?;
    let step = std::thread::scope(|scope| {
        let runner = scope.spawn(|| run_one(plan, &[fixture.target()]));
        // The first read marks the beginning of the window.
        while fixture.device().counters().reads == 0 && !runner.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_secs(8));
        fixture.device().stall(STALL);
        runner.join()
    });
    let step = step.map_err(|_| ProveError::Run("the run panicked".into()))??;
    let response = &step.measure.response;
    let naive = &step.measure.service;
    let at = |histogram: &Histogram, quantile| histogram.quantile(quantile) as f64 / 1e6;
    let p95 = at(response, 0.95);
    let p99 = at(response, 0.99);
    let naive_p99 = at(naive, 0.99);
    let filled = at(&back_filled(&fixture.take_reads()), 0.99);
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
            "not visible",
            shown(naive_p99),
            "at most 10 ms",
            naive_p99 <= 10.0,
        ),
        Row::new("p99 naive and back-filled", "790 ms", shown(filled), "informative", true),
    ]
    .into())
}

/// Applies HdrHistogram's correction by the expected interval to the service times of the only connection.
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
        let node = NodeId(2);
        let request = DeviceRequest::Read;
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
    fn request_waits_for_the_executed_time_of_its_predecessor() {
        let late = DeviceRecord { ended_ns: 110, ..read(100) };
        let next = DeviceRecord { received_ns: 40, due_ns: 150, ended_ns: 150, service_ns: 50, ..read(50) };
        let idle = DeviceRecord { received_ns: 500, due_ns: 507, ended_ns: 507, service_ns: 7, ..read(7) };
        assert_eq!(lindley(&[late, next, idle]), [110, 120, 7]);
    }

    #[test]
    fn back_filling_adds_requests_that_were_never_sent() {
        let filled = back_filled(&[read(7_000_000), read(1_000_000)]);
        // 7, then 5 and 3 for the missed starts; 1 is less than the gap.
        assert_eq!((filled.len(), filled.max() / 100_000), (4, 70));
        assert_eq!(filled.quantile(0.5) / 100_000, 30);
    }
}
