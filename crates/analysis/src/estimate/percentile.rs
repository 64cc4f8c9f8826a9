//! Percentiles of response times, with intervals that account for queueing.

use sharebench_model::{Histogram, Measure, StepResult};
use sharebench_stats::{
    EffectiveSampleSize, Interval, RESOLVED_TAIL, Ranks, SMALLEST_SAMPLE_95, dependent_quantile_ranks,
    hodges_lehmann, is_lower_bound, is_resolved, pooled_sample_size, quantile_ranks,
};

use crate::types::Percentile;

/// The percentile `p` (0..1) of all repetitions, which together are `total`. `responses` are the response times of each.
pub(crate) fn percentile(
    steps: &[&StepResult],
    responses: &[Histogram],
    total: &Measure,
    p: f64,
    level: f64,
) -> Percentile {
    let times = &total.response;
    let n = times.len();
    let recorded = || steps.iter().zip(responses).filter(|(_, response)| !response.is_empty());
    let sizes: Vec<(u64, EffectiveSampleSize)> =
        recorded().filter_map(|(step, response)| Some((response.len(), sample_size_at(step, p)?))).collect();
    let all_known = sizes.len() == recorded().count();
    // Not the number of times: what did not end may be among them with the time it had waited so far.
    let bounded = is_lower_bound(p, total.transactions, total.censored);
    if all_known && sizes.len() >= SMALLEST_SAMPLE_95 && sizes.iter().all(|(_, size)| is_resolved(p, *size)) {
        let logs: Vec<f64> = recorded().map(|(_, response)| (response.quantile(p) as f64).ln()).collect();
        if let Some(typical) = hodges_lehmann(&logs, level) {
            let typical = typical.map(f64::exp);
            return Percentile {
                ns: typical.value.round() as u64,
                interval: typical.interval,
                resolved: !bounded,
            };
        }
    }
    let at = |rank: u64| times.quantile(rank as f64 / n as f64) as f64;
    let between = |ranks: Ranks| Interval::new(at(ranks.low), at(ranks.high));
    let (ranks, resolved) = match pooled_sample_size(&sizes).filter(|_| all_known) {
        Some(size) => (dependent_quantile_ranks(n, p, size, level), is_resolved(p, size)),
        None => (quantile_ranks(n, p, level), n as f64 * (1.0 - p) >= RESOLVED_TAIL),
    };
    Percentile { ns: times.quantile(p), interval: ranks.map(between), resolved: resolved && !bounded }
}

/// Effective sample size of a step's times at a quantile, if the step has it.
fn sample_size_at(step: &StepResult, p: f64) -> Option<EffectiveSampleSize> {
    let found = step.measure.response_sample_size.iter().find(|worth| (worth.quantile - p).abs() < 1e-9)?;
    Some(EffectiveSampleSize { n: found.n, degrees_of_freedom: found.degrees_of_freedom })
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Coordinates, ResponseSampleSize};

    use super::*;

    fn step(repetition: u32, centre: u64, worth: Option<f64>) -> StepResult {
        let mut response = Histogram::new();
        for offset in 0..1_000 {
            response.record(centre + offset * centre / 1_000);
        }
        let response_sample_size = worth
            .map(|n| ResponseSampleSize { quantile: 0.5, n, degrees_of_freedom: 40.0 })
            .into_iter()
            .collect();
        StepResult {
            index: repetition,
            target: 0,
            repetition,
            coordinates: Coordinates::new(),
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure: Measure { response, response_sample_size, ..Measure::default() },
            checks: Vec::new().into(),
        }
    }

    fn median_of(steps: &[StepResult], censored: u64) -> Percentile {
        let mut response = Histogram::new();
        for step in steps {
            response.merge(&step.measure.response);
        }
        let total = Measure { transactions: response.len(), response, censored, ..Measure::default() };
        let responses: Vec<Histogram> = steps.iter().map(|step| step.measure.response.clone()).collect();
        percentile(&steps.iter().collect::<Vec<_>>(), &responses, &total, 0.5, 0.95)
    }

    #[test]
    fn dependence_widens_the_interval_of_one_window() {
        let width = |worth| median_of(&[step(0, 1_000_000, worth)], 0).interval.unwrap().half_width();
        let independent = width(None);
        let queued = width(Some(100.0));
        // A tenth of the observations: root of ten as wide, and a little for Student's t.
        assert!((3.0..3.5).contains(&(queued / independent)), "{queued} {independent}");
        assert!(!median_of(&[step(0, 1_000_000, Some(15.0))], 0).resolved);
    }

    #[test]
    fn repetitions_that_differ_are_the_spread_that_counts() {
        let steps: Vec<StepResult> =
            (0..8).map(|n| step(n, 1_000_000 + 50_000 * u64::from(n), Some(900.0))).collect();
        let found = median_of(&steps, 0);
        let interval = found.interval.unwrap();
        assert!(interval.low < 1_650_000.0 && interval.high > 1_850_000.0, "{found:?}");
        assert!(found.resolved && interval.contains(found.ns as f64));
    }

    #[test]
    fn what_never_ended_leaves_a_lower_bound() {
        let steps = [step(0, 1_000_000, Some(900.0))];
        assert!(median_of(&steps, 900).resolved);
        assert!(!median_of(&steps, 1_100).resolved);
    }
}
