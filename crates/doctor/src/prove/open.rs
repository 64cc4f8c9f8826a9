//! Known answers K3 and K6 (docs/measurement-rules.md K3, K6): starts that a schedule decides, whatever the server
//! does.

use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_model::{Histogram, Measure};
use sharebench_server::{DeviceRecord, ServiceTime};

use crate::prove::rig::{Rig, executed_ns, mean_ns, median_ns, run_one, single_reads};
use crate::prove::yardstick::{Reach, Tolerance, Yardstick};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const SERVICE: Duration = Duration::from_millis(1);
/// Enough that hardly any start waits for a free one.
const USERS: u32 = 60;

/// What K3 allows at the lowest load: 100 us for the way in the mean and 150 us in the median, as the sleep is in the
/// server's log; 10 % of a median of 1.3 ms for a late start and the way together.
const TOLERANCE: Tolerance =
    Tolerance { late_p50: u64::MAX, way_p50: 150_000, way_mean: 100e3, both_p50: 130_000 };

/// K3: one server of exponential service, half, seven tenths and nine tenths loaded.
pub(super) fn random_arrivals(conditions: Conditions) -> Result<Attempt, ProveError> {
    let measure = conditions.lasting(Duration::from_secs(8));
    let mut rows = Vec::new();
    let yardstick = Yardstick::start()?;
    for (rate, theory) in [(500, Some(2.0)), (700, Some(1.0 / 0.3)), (900, None)] {
        let service = ServiceTime::Exponential { mean: SERVICE, seed: 3 };
        let rig = Rig::serving(service, USERS)?;
        let pace = format!(
            "users = [{USERS}]\narrivals = 'poisson'\nrates = [{rate}]\nwarm_up = '0s'\nmeasure = '{measure:?}'"
        );
        let step = run_one(single_reads(&pace)?, &[rig.target()])?;
        let reads = rig.take_reads();
        rows.extend(logged(rate, &step.measure, &reads));
        if let Some(services) = theory {
            rows.extend(predicted(rate, &step.measure, &reads, services));
        }
    }
    let reach = yardstick.end();
    rows.extend(reach.map(Reach::row));
    let attempt = Attempt::from(rows);
    let excuse = reach.filter(|_| !attempt.holds()).and_then(|reach| reach.excuse(TOLERANCE));
    Ok(Attempt { noise: excuse, ..attempt })
}

/// Beside what the server logged: it cannot know of a start that was late here, so this is about the time from
/// the start on, and how late starts were is a row of its own.
fn logged(rate: u32, measure: &Measure, reads: &[DeviceRecord]) -> [Row; 3] {
    let (mean, median) = (measure.service.mean(), measure.service.quantile(0.5) as f64);
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

/// Beside queueing theory, from the instant at which each start was intended.
fn predicted(rate: u32, measure: &Measure, reads: &[DeviceRecord], services: f64) -> [Row; 2] {
    let (mean, median) = (measure.response.mean(), measure.response.quantile(0.5) as f64);
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

/// Response times of a server that takes one request after another, by Lindley's recursion over the arrivals that
/// the server met and the services that it executed, its own lateness included.
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
/// Between starts: 500 a second.
const GAP_NS: u64 = 2_000_000;

/// K6: everyone who was to start in a stall is charged for it. Its length and the window's belong together, so
/// that being in a hurry shortens neither.
pub(super) fn stall(_: Conditions) -> Result<Attempt, ProveError> {
    let rig = Rig::serving(ServiceTime::Fixed(SERVICE), 1)?;
    let pace = "users = [1]\narrivals = 'constant'\nrates = [500]\nwarm_up = '0s'\nmeasure = '20s'";
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
    fn a_request_waits_for_the_one_before_it_as_executed() {
        let late = DeviceRecord { ended_ns: 110, ..read(100) };
        let next = DeviceRecord { received_ns: 40, due_ns: 150, ended_ns: 150, service_ns: 50, ..read(50) };
        let idle = DeviceRecord { received_ns: 500, due_ns: 507, ended_ns: 507, service_ns: 7, ..read(7) };
        assert_eq!(lindley(&[late, next, idle]), [110, 120, 7]);
    }

    #[test]
    fn back_filling_adds_those_that_were_never_sent() {
        let filled = back_filled(&[read(7_000_000), read(1_000_000)]);
        // 7, then 5 and 3 for those who would have started meanwhile; 1 would be less than the gap.
        assert_eq!((filled.len(), filled.max() / 100_000), (4, 70));
        assert_eq!(filled.quantile(0.5) / 100_000, 30);
    }
}
