//! Self-checks of throughput mode: whether the jobs worked at once, and whether it was the target they
//! waited for.

use sharebench_model::units::{show_operation_rate, show_rate, three_digits};
use sharebench_model::{Check, JobShare, Measure, Verdict};

use crate::check::LITTLE_TOLERANCE;
use crate::check::verdict::check;

/// Share of the window that a job may be idle, or busy with its own data, before it is reported.
const IDLE_SHARE: f64 = 0.1;

/// Checks the jobs' shares of a measured cell.
pub(crate) fn throughput(measure: &Measure, depth: u32) -> Vec<Check> {
    let mut checks = Vec::new();
    let worked: Vec<f64> = measure.shares.iter().map(|share| share.worked_ns as f64).collect();
    let total = worked.iter().sum::<f64>();
    let window = measure.window_ns as f64;
    if window <= 0.0 || total <= 0.0 {
        return checks;
    }
    checks.push(job_shares(measure));
    checks.extend(together(&worked, window));
    if measure.service.len() >= 100 * u64::from(depth) {
        // Flushes and closes that are within the window are no operations of the depth.
        let others = (measure.evidence.flush_ns + measure.evidence.close_ns) as f64;
        let working = (total - others).max(1.0);
        checks.extend(little(measure.service.mean() * measure.service.len() as f64 / working, depth));
    }
    checks
}

/// The shares in one sentence; the measure holds their numbers.
pub(crate) fn job_shares(measure: &Measure) -> Check {
    let rates = measure.shares.iter().filter(|share| share.worked_ns > 0);
    let in_bytes = measure.bytes.total() > 0;
    let done = |share: &JobShare| if in_bytes { share.bytes } else { share.operations } as f64;
    let rates: Vec<f64> = rates.map(|share| done(share) * 1e9 / share.worked_ns as f64).collect();
    let shown = |rate| if in_bytes { show_rate(rate) } else { show_operation_rate(rate) };
    let (least, most) =
        rates.iter().fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
    let detail = format!(
        "{} of {} jobs took part, the slowest at {}, the fastest at {} while it worked",
        rates.len(),
        measure.users_assigned,
        shown(least),
        shown(most)
    );
    check("jobs", Verdict::Valid, detail)
}

/// The rate is that of all jobs only while all are at work.
fn together(worked: &[f64], window: f64) -> Option<Check> {
    let mean = worked.iter().sum::<f64>() / worked.len() as f64;
    (mean < window * (1.0 - IDLE_SHARE)).then(|| {
        let fastest = worked.iter().copied().fold(f64::MAX, f64::min);
        let detail = format!(
            "on average a job worked in {} % of the window, the first to be done in {} %: the rest is idle time that the rate holds (IOzone's stonewall would have stopped everybody there); use larger files, or a larger batch of entries",
            three_digits(100.0 * mean / window),
            three_digits(100.0 * fastest / window)
        );
        check("together", Verdict::Warning, detail)
    })
}

/// Operations in flight per job = sum of their service times / time at work.
fn little(in_flight: f64, depth: u32) -> Option<Check> {
    if in_flight > f64::from(depth) * (1.0 + LITTLE_TOLERANCE) {
        let detail = format!(
            "service times give {} operations in flight per job, but only {depth} were allowed",
            three_digits(in_flight)
        );
        Some(check("little", Verdict::Warning, detail))
    } else if in_flight < f64::from(depth) * (1.0 - IDLE_SHARE) {
        let detail = format!(
            "a job had {} of {depth} operations in flight on average: filling and verifying buffers took the rest of the window; try --verify off or larger records",
            three_digits(in_flight)
        );
        Some(check("depth", Verdict::Warning, detail))
    } else {
        None
    }
}
