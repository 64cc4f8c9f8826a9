//! Run events as JSON lines on standard output. The key `event` is the kind of the event.

use serde_json::{Map, Value, json};
use sharebench_model::{Coordinates, RunEvent, RunOutcome, StepResult};

use crate::output::print_object;

/// Name and version of the schema of the events: fields may be added under the same version.
const SCHEMA: &str = "sharebench.events/1";

/// Prints one event of a run by `ranks` processes.
pub fn print(event: &RunEvent, targets: &[&str], ranks: u32) {
    let mut object = object(event, targets);
    if ranks > 1 && matches!(event, RunEvent::Progress { .. } | RunEvent::Failure { .. }) {
        // Events within a step are of rank 0 only.
        object["rank"] = json!(0);
    }
    print_object(&object);
}

fn object(event: &RunEvent, targets: &[&str]) -> Value {
    let name = |target: u32| targets.get(target as usize).copied().unwrap_or("?");
    match event {
        RunEvent::Started(header) => json!({
            "event": "started", "schema": SCHEMA, "title": header.title, "version": header.version, "seed": header.seed,
            "steps_planned": header.steps_planned, "plan": header.plan,
            "targets": header.targets.iter().map(|t| json!({"name": t.name, "url": t.url})).collect::<Vec<_>>(),
        }),
        RunEvent::TargetReady { target, facts } => {
            json!({"event": "target-ready", "target": name(*target), "facts": facts})
        }
        RunEvent::TargetDone { target, facts } => {
            json!({"event": "target-done", "target": name(*target), "facts": facts})
        }
        RunEvent::Round(round) => json!({
            "event": "round", "number": round.number, "cells": round.cells, "of": round.of,
            "expected_steps": round.expected_steps, "budget_left_ns": round.budget_left_ns,
        }),
        RunEvent::StepStarted { index, target, repetition, coordinates } => json!({
            "event": "step-started", "index": index, "target": name(*target), "repetition": repetition,
            "coordinates": axes(coordinates),
        }),
        RunEvent::Preparing { target, what, done, of } => {
            json!({"event": "preparing", "target": name(*target), "what": what, "done": done, "of": of})
        }
        RunEvent::Removing { target, entries } => {
            json!({"event": "removing", "target": name(*target), "entries": entries})
        }
        RunEvent::Progress { index, operations, bytes, transactions, failures, users } => json!({
            "event": "progress", "index": index, "operations": operations, "bytes": bytes,
            "transactions": transactions, "failures": failures, "users": users,
        }),
        RunEvent::Failure { index, class, detail } => {
            json!({"event": "failure", "index": index, "class": class.to_string(), "detail": detail})
        }
        RunEvent::StepFinished(step) => finished(step, name(step.target)),
        RunEvent::Precision(report) => json!({
            "event": "precision", "asked": report.asked,
            "cells": report.cells.iter().map(|cell| json!({
                "coordinates": axes(&cell.coordinates), "repetitions": cell.repetitions,
                "half_width": cell.half_width,
            })).collect::<Vec<_>>(),
        }),
        RunEvent::Warning(text) => json!({"event": "warning", "text": text}),
        RunEvent::Finished(outcome) => {
            let (word, reason) = match outcome {
                RunOutcome::Complete => ("complete", None),
                RunOutcome::Incomplete(error) => (error.name(), error.reason()),
            };
            json!({"event": "finished", "outcome": word, "reason": reason})
        }
    }
}

/// A step without its histograms, which are in the results database.
fn finished(step: &StepResult, target: &str) -> Value {
    let measure = &step.measure;
    let at = |quantile| measure.response.quantile(quantile);
    let errors: Map<String, Value> =
        measure.errors.iter().map(|(class, count)| (class.to_string(), json!(count))).collect();
    json!({
        "event": "step-finished", "index": step.index, "target": target, "repetition": step.repetition,
        "coordinates": axes(&step.coordinates), "started_unix_ms": step.started_unix_ms,
        "bytes_per_s": measure.throughput(), "operations_per_s": measure.operation_rate(),
        "transactions_per_s": measure.transaction_rate(), "bytes_read": measure.bytes.read,
        "bytes_written": measure.bytes.written, "operations": measure.operations,
        "response_ns": {"mean": measure.response.mean(), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99)},
        "users_assigned": measure.users_assigned, "users_reported": measure.users_reported,
        "errors": errors, "verdict": step.verdict(), "checks": step.checks,
    })
}

/// Sizes and counts as numbers, names as strings.
fn axes(coordinates: &Coordinates) -> Value {
    let axis = |(axis, value): (&str, &sharebench_model::Value)| {
        let value = match value {
            sharebench_model::Value::Bytes(number) | sharebench_model::Value::Count(number) => json!(number),
            sharebench_model::Value::Text(text) => json!(**text),
        };
        (axis.to_owned(), value)
    };
    Value::Object(coordinates.iter().map(axis).collect())
}
