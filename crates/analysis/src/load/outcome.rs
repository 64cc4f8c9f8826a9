//! The repetitions of a load, as one outcome.

use sharebench_model::{LoadDetail, ObjectiveReport, Part, StepResult};

use crate::load::support::load_support;
use crate::load::unit::unit_outcome;
use crate::types::{CallsPerTransaction, LoadOutcome, PartOutcome};

/// Puts the repetitions of a load together; none for steps that are no load's.
pub(crate) fn load_outcome(steps: &[&StepResult]) -> Option<LoadOutcome> {
    let mut total = LoadDetail::default();
    let mut window_ns = 0;
    for measure in steps.iter().map(|step| &step.measure) {
        window_ns += measure.window_ns;
        total.merge((*measure.load).clone());
    }
    let (objective, objective_kept) = objective(steps).unzip();
    if total.is_empty() {
        return None;
    }
    let parts = |parts: &[Part]| parts.iter().map(|part| part_outcome(part, window_ns)).collect::<Vec<_>>();
    let mut operations = parts(&total.operations);
    operations.retain(|part| part.count > 0 || !part.errors.is_empty());
    let support = load_support(steps, total.transactions.iter().map(|part| part.count).sum());
    Some(LoadOutcome {
        transactions: parts(&total.transactions),
        operations,
        fairness: total.fairness,
        sessions_lost: total.sessions_lost,
        without_session_ns: total.without_session_ns,
        think_ns: total.think_ns,
        objective,
        objective_kept,
        server: total.server,
        unit: unit_outcome(steps),
        support,
        calls: calls_per_transaction(steps),
    })
}

/// The objective over all repetitions, and how many of them keep it: it is kept if each of them does. The arithmetic is that of
/// the last one.
fn objective(steps: &[&StepResult]) -> Option<(ObjectiveReport, usize)> {
    let reports: Vec<&ObjectiveReport> =
        steps.iter().filter_map(|step| step.measure.load.objective.as_ref()).collect();
    let last = *reports.last()?;
    let kept = reports.iter().filter(|report| report.kept).count();
    let all = reports.len();
    let detail = match all {
        1 => last.detail.clone(),
        _ if kept == all || kept == 0 => format!("{} in the last of {all} repetitions", last.detail),
        _ => format!("kept in {kept} of {all} repetitions; {} in the last", last.detail),
    };
    Some((ObjectiveReport { wanted: last.wanted.clone(), kept: kept == all, detail }, kept))
}

/// None where no call carries several operations, or nothing was counted.
fn calls_per_transaction(steps: &[&StepResult]) -> Option<CallsPerTransaction> {
    let mut transactions = 0;
    let mut calls = 0;
    let mut operations = 0;
    for measure in steps.iter().map(|step| &step.measure) {
        transactions += measure.transactions;
        calls += (*measure.wire)?.requests;
        operations += measure.load.wire_operations;
    }
    let each = |count: u64| count as f64 / transactions as f64;
    (transactions > 0 && operations > 0)
        .then(|| CallsPerTransaction { calls: each(calls), operations: each(operations) })
}

fn part_outcome(part: &Part, window_ns: u64) -> PartOutcome {
    let at = |times: &sharebench_model::Histogram| [0.5, 0.95, 0.99].map(|q| times.quantile(q));
    let times = if part.response.is_empty() { &part.service } else { &part.response };
    PartOutcome {
        name: part.name.clone(),
        count: part.count,
        per_s: part.count as f64 * 1e9 / window_ns.max(1) as f64,
        bytes: part.bytes,
        missed: part.missed,
        errors: part.errors.clone(),
        mean_ns: times.mean(),
        response_ns: at(&part.response),
        service_ns: at(&part.service),
        lag_ns: part.lag.quantile(0.99),
    }
}
