//! The repetitions of one system at one position, as one outcome.

use sharebench_model::{Histogram, Measure, StepResult, Verdict, WireCount, axis};
use sharebench_stats::{RESOLVED_TAIL, median, sample_median};

use crate::align::layout::is_server_side;
use crate::align::rates::rate;
use crate::estimate::percentile::percentile;
use crate::load::figures::repeated_rate;
use crate::load::outcome::load_outcome;
use crate::types::{
    Buffering, ClientCpuCost, Curve, FlushedRates, Options, Outcome, Percentile, RateUnit, WirePerOperation,
    WireTraffic,
};

/// Sums up the usable repetitions of one system at one position; none when there is none.
pub(crate) fn outcome(
    steps: &[&StepResult],
    unit: RateUnit,
    options: &Options,
    curve: bool,
) -> Option<Outcome> {
    let rates: Vec<f64> = steps.iter().filter_map(|step| rate(&step.measure, unit)).collect();
    let is_load = steps.iter().any(|step| !step.measure.load.transactions.is_empty());
    let rate =
        if is_load { repeated_rate(&rates, options.level)? } else { sample_median(&rates, options.level)? };
    // Fetched once for all uses.
    let responses = Histogram::fetched(steps.iter().map(|step| &step.measure.response));
    let total = merge(steps, &responses, curve);
    // No step takes no CPU time: 0 means that the source did not count it.
    let counted = total.client_cpu.total_ns() > 0;
    let per = |nanos: u64, count: u64| (counted && count > 0).then(|| nanos as f64 / count as f64);
    let per_operation = |nanos: u64| per(nanos, total.operations);
    let per_byte = |nanos: u64| per(nanos, total.bytes.total());
    let percentile =
        |p| (!total.response.is_empty()).then(|| percentile(steps, &responses, &total, p, options.level));
    let percentiles = [0.5, 0.95, 0.99].map(percentile);
    let figures = steps.iter().map(|step| &step.measure).find(|measure| measure.is_reported());
    let mut remarks: Vec<String> = steps
        .iter()
        .flat_map(|step| &step.checks)
        .filter(|c| c.verdict > Verdict::Valid)
        .map(|c| format!("{}: {}", c.name, c.detail))
        .collect();
    remarks.sort();
    remarks.dedup();
    Some(Outcome {
        rate,
        operations_per_s: median_of(steps, Measure::operation_rate),
        transactions_per_s: median_of(steps, Measure::transaction_rate),
        flushed: FlushedRates {
            acknowledged_per_s: median_of(steps, Measure::acknowledged).filter(|rate| *rate > 0.0),
            durable_per_s: median_of(steps, Measure::durable).filter(|rate| *rate > 0.0),
        }
        .into(),
        response_mean_ns: if total.response.is_empty() {
            median_of(steps, Measure::mean_response_ns)
        } else {
            Some(total.response.mean())
        },
        p50: percentiles[0].into(),
        p95: percentiles[1].into(),
        p99: percentiles[2].into(),
        users_assigned: total.users_assigned,
        users_reported: total.users_reported,
        cpu: ClientCpuCost {
            user_ns_per_operation: per_operation(total.client_cpu.user_ns),
            kernel_ns_per_operation: per_operation(total.client_cpu.kernel_ns),
            ns_per_byte: per_byte(total.client_cpu.total_ns()),
            user_ns_per_byte: per_byte(total.client_cpu.user_ns),
            kernel_ns_per_byte: per_byte(total.client_cpu.kernel_ns),
        }
        .into(),
        measured_ns: steps.iter().map(|step| step.measure.base_ns() as f64).sum::<f64>() / steps.len() as f64,
        buffering: Buffering::default(),
        wire: WireTraffic::from_steps(steps).into(),
        per_operation: WirePerOperation {
            requests_per_operation: requests_per_operation(steps),
            wire_bytes_per_operation: wire_bytes_per_operation(steps),
        }
        .into(),
        cache_shares: None,
        reported: figures.map(|measure| measure.reported.clone()),
        operations: total.operations,
        bytes: total.bytes.total(),
        verdict: steps.iter().map(|step| step.verdict()).max().unwrap_or_default(),
        remarks: remarks.into(),
        curve: (curve && !total.response.is_empty()).then(|| Box::new(curves(&total, percentiles))),
        load: load_outcome(steps).map(Box::new),
        errors: total.errors,
    })
}

/// Requests per operation over the repetitions of a metadata test, as far as they are counted.
fn requests_per_operation(steps: &[&StepResult]) -> Option<f64> {
    let of_metadata = |step: &&StepResult| step.coordinates.get(axis::ENTRIES).is_some();
    wire_per_operation(steps.iter().copied().filter(of_metadata), |wire| wire.requests)
}

/// Bytes on the wire per operation over the repetitions of a server-side test, as far as they are counted. A mount counts
/// headers only where its system does.
fn wire_bytes_per_operation(steps: &[&StepResult]) -> Option<f64> {
    let server_side = steps.iter().copied().filter(|step| is_server_side(&step.coordinates));
    wire_per_operation(server_side, |wire| (wire.sent + wire.received).max(wire.payload()))
}

/// A wire count of some steps, per operation.
fn wire_per_operation<'a>(
    steps: impl Iterator<Item = &'a StepResult>,
    count: fn(&WireCount) -> u64,
) -> Option<f64> {
    let counted =
        steps.filter_map(|step| Some((count(step.measure.wire.as_ref()?), step.measure.operations)));
    let (counts, operations) = counted.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    (operations > 0).then(|| counts as f64 / operations as f64)
}

fn median_of(steps: &[&StepResult], what: impl Fn(&Measure) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = steps.iter().filter_map(|step| what(&step.measure)).collect();
    median(&mut values)
}

/// The repetitions as one measure; of the users that reported the fewest count. Service times and lag are
/// wanted by curves only, and merging histograms is most of the work of a large sweep.
fn merge(steps: &[&StepResult], responses: &[Histogram], curve: bool) -> Measure {
    let mut total = Measure { users_reported: u32::MAX, ..Measure::default() };
    let times =
        |of: fn(&Measure) -> &Histogram| Histogram::merged(steps.iter().map(|step| of(&step.measure)));
    total.response = Histogram::merged(responses);
    if curve {
        total.service = times(|measure| &measure.service);
        total.lag = times(|measure| &measure.lag);
    }
    for measure in steps.iter().map(|step| &step.measure) {
        total.operations += measure.operations;
        total.transactions += measure.transactions;
        total.bytes.read += measure.bytes.read;
        total.bytes.written += measure.bytes.written;
        total.censored += measure.censored;
        total.client_cpu.user_ns += measure.client_cpu.user_ns;
        total.client_cpu.kernel_ns += measure.client_cpu.kernel_ns;
        total.users_assigned = total.users_assigned.max(measure.users_assigned);
        total.users_reported = total.users_reported.min(measure.users_reported);
        for (class, count) in &measure.errors {
            *total.errors.entry(*class).or_default() += count;
        }
    }
    total
}

/// Quantiles at even steps of nines: 0, 0.44, 0.68, 0.82, 0.9, .. up to what the counts can show.
fn curves(total: &Measure, known: [Option<Percentile>; 3]) -> Curve {
    let along = |times: &Histogram| -> Vec<(f64, u64)> {
        let steps = (times.len() as f64).max(1.0).log10() * 4.0;
        (0..=steps as u32)
            .map(|k| 1.0 - 10f64.powf(-f64::from(k) / 4.0))
            .map(|q| (q, times.quantile(q)))
            .collect()
    };
    let lag = if total.lag.max() > 1 { along(&total.lag) } else { Vec::new() };
    let independent = 1.0 - RESOLVED_TAIL / (total.response.len() as f64).max(RESOLVED_TAIL);
    // Dependent times resolve less than their number.
    let open =
        known.iter().zip([0.5, 0.95, 0.99]).find(|(known, _)| known.is_some_and(|known| !known.resolved));
    let resolved_to = independent.min(open.map_or(1.0, |(_, quantile)| quantile));
    Curve { response: along(&total.response), service: along(&total.service), lag, resolved_to }
}
