//! Self-checks of a step (R9): what it says against itself, with the arithmetic and the remedy.

use sharebench_model::units::{show_nanos, three_digits};
use sharebench_model::{Check, ErrorClass, Measure, Verdict};
use sharebench_plan::{TransactionWork, Verify, Work};

use crate::check_policy;

/// Little's law may be off by this much before it is told.
const LITTLE_TOLERANCE: f64 = 0.02;
/// Share of transactions that may start late because of us.
const LATE_SHARE: f64 = 0.01;

/// Checks a measured step.
pub(crate) fn checks(work: &Work, measure: &Measure, verify: Verify) -> Vec<Check> {
    let mut checks = Vec::new();
    errors(measure, &mut checks);
    bytes(measure, verify, &mut checks);
    match work {
        Work::Records(work) => {
            little(measure, work.queue_depth, &mut checks);
            check_policy::policy(work, measure, &mut checks);
        }
        Work::Transactions(work) => {
            interactive_law(measure, work, &mut checks);
            participation(measure, &mut checks);
            lag(measure, &mut checks);
        }
    }
    checks
}

fn push(checks: &mut Vec<Check>, name: &str, verdict: Verdict, detail: String) {
    checks.push(Check { name: name.into(), verdict, detail });
}

fn errors(measure: &Measure, checks: &mut Vec<Check>) {
    for (class, count) in &measure.errors {
        let verdict = if *class == ErrorClass::Busy { Verdict::Suspicious } else { Verdict::Invalid };
        let detail = format!("{count} of {} operations failed: {class}", measure.operations);
        push(checks, "errors", verdict, detail);
    }
    if measure.operations == 0 {
        push(checks, "errors", Verdict::Invalid, "no operation completed".into());
    }
}

fn bytes(measure: &Measure, verify: Verify, checks: &mut Vec<Check>) {
    if let Some(wire) = measure.wire {
        let (app, wire) = (measure.bytes, (wire.payload_received, wire.payload_sent));
        if app.read != wire.0 || app.written > wire.1 {
            let detail = format!(
                "application read {} B and wrote {} B, the wire carried {} B and {} B of file data",
                app.read, app.written, wire.0, wire.1
            );
            push(checks, "bytes", Verdict::Suspicious, detail);
        }
    }
    if verify != Verify::Off && measure.verified != measure.bytes.read && measure.errors.is_empty() {
        let detail = format!("{} of {} bytes read were verified", measure.verified, measure.bytes.read);
        push(checks, "verified", Verdict::Suspicious, detail);
    }
}

/// Operations in flight = rate x mean service time, over the time in which something was in flight.
fn little(measure: &Measure, depth: u32, checks: &mut Vec<Check>) {
    // Flushes and closes that count as busy are no operations of the depth.
    let busy_ns = measure.operations_ns();
    if busy_ns == 0 || measure.service.len() < 100 * u64::from(depth) {
        return;
    }
    let in_flight = measure.service.mean() * measure.service.len() as f64 / busy_ns as f64;
    if in_flight > f64::from(depth) * (1.0 + LITTLE_TOLERANCE) {
        let detail = format!(
            "rate x mean service time gives {} operations in flight, but only {depth} were allowed",
            three_digits(in_flight)
        );
        push(checks, "little", Verdict::Suspicious, detail);
    } else if in_flight < f64::from(depth) * 0.9 {
        let detail = format!(
            "on average {} of {depth} operations were in flight: the generator could not keep the depth; try --verify off or larger records",
            three_digits(in_flight)
        );
        push(checks, "depth", Verdict::Suspicious, detail);
    }
}

/// N = X (R + Z): users are either waiting or thinking.
fn interactive_law(measure: &Measure, work: &TransactionWork, checks: &mut Vec<Check>) {
    let Some(rate) = measure.transaction_rate() else { return };
    if measure.transactions < 30 * u64::from(work.motors) {
        return;
    }
    let cycle = (measure.response.mean() + work.think.as_nanos() as f64) / 1e9;
    let users = rate * cycle;
    let residual = users / f64::from(work.motors) - 1.0;
    if residual.abs() > 5.0 * LITTLE_TOLERANCE {
        let detail = format!(
            "{} transactions/s x ({} response + {:?} think) account for {} of {} users",
            three_digits(rate),
            show_nanos(measure.response.mean()),
            work.think,
            three_digits(users),
            work.motors
        );
        push(checks, "little", Verdict::Suspicious, detail);
    }
}

fn participation(measure: &Measure, checks: &mut Vec<Check>) {
    if measure.motors_reported < measure.motors_assigned {
        let detail = format!(
            "{} of {} motors completed a transaction in the window: response times are those of the survivors; measure longer or use fewer motors",
            measure.motors_reported, measure.motors_assigned
        );
        push(checks, "participation", Verdict::Suspicious, detail);
    }
}

/// More than 1 % of starts late by more than max(1 ms + timer, 10 % of the median) is our fault, not the target's.
fn lag(measure: &Measure, checks: &mut Vec<Check>) {
    if measure.lag.len() < 100 {
        return;
    }
    let limit = (measure.service.quantile(0.5) / 10).max(2_000_000);
    let late = measure.lag.quantile(1.0 - LATE_SHARE);
    if late > limit {
        let detail = format!(
            "1 % of transactions started more than {} late (limit {}): this machine, not the target, set the pace",
            show_nanos(late as f64),
            show_nanos(limit as f64)
        );
        push(checks, "generator", Verdict::Suspicious, detail);
    }
}
