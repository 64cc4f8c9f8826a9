//! The progress of a run as the JSON that the page of the dashboard shows.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Map, Value, json};
use sharebench_model::{StepResult, axis};
use sharebench_report::plain;

use crate::live::progress::{RunProgress, TargetProgress, step_words, steps_of};

/// Number of messages that the page shows: the newest ones.
const MAX_MESSAGES: usize = 10;
/// Characters of a message.
const MAX_MESSAGE: usize = 300;

/// The newest failures and warnings.
#[derive(Debug, Default)]
pub struct Messages(VecDeque<String>);

impl Messages {
    /// Adds a message of a kind; the oldest one beyond the limit is left out.
    pub fn add(&mut self, kind: &str, text: &str) {
        if self.0.len() == MAX_MESSAGES {
            self.0.pop_front();
        }
        let text: String = plain(text).chars().take(MAX_MESSAGE).collect();
        self.0.push_back(format!("{kind}: {text}"));
    }
}

/// The whole state at `at`, without the finished steps. Its size does not depend on the length of the run.
pub fn state(progress: &RunProgress, messages: &Messages, at: Instant) -> Value {
    let failures: Map<String, Value> =
        progress.failures.iter().map(|(class, count)| (class.to_string(), json!(count))).collect();
    json!({
        "phase": phase(progress),
        "now": now(progress, at),
        "share": progress.share(at),
        "steps": steps_of(progress),
        "spent_s": progress.spent(at).as_secs_f64().round(),
        "left_s": progress.seconds_left(at).map(f64::round),
        "targets": progress.targets.iter().map(target).collect::<Vec<_>>(),
        "verdicts": progress.verdicts,
        "checks": progress.failed_checks,
        "failures": failures,
        "warnings": progress.warnings,
        "messages": messages.0,
        "ranks": progress.ranks,
    })
}

fn phase(progress: &RunProgress) -> &'static str {
    match &progress.now {
        _ if progress.ended => "the run has ended; its report is being made",
        _ if progress.removing.is_some() => "removing the directory of the run",
        _ if progress.stopping => "stopping: finished steps are kept",
        None => "waiting for the next step",
        Some(_) => "measuring",
    }
}

/// The current step, or null between steps.
fn now(progress: &RunProgress, at: Instant) -> Value {
    let Some(now) = &progress.now else { return Value::Null };
    let activity = now.activity.zip(progress.activity_words()).map(|(activity, words)| {
        json!({
            "users": activity.users, "transactions": activity.transactions, "failures": activity.failures,
            "text": format!("{}, {}, {}", words.users, words.failures, words.stress),
        })
    });
    json!({
        "target": now.target,
        "step": plain(&step_words(&now.coordinates)),
        "repetition": now.repetition + 1,
        "seconds": at.saturating_duration_since(now.since).as_secs_f64().round(),
        "preparing": progress.preparing,
        "activity": activity,
    })
}

fn target(target: &TargetProgress) -> Value {
    json!({
        "name": plain(&target.name),
        "steps": target.steps,
        "bytes_per_s": target.rate.map(f64::round),
        "operations_per_s": target.operations,
        "p50_ns": target.p50_ns,
        "p99_ns": target.p99_ns,
        "rank_0_bytes_per_s": target.of_rank_0.map(f64::round),
        "history": target.history.iter().map(|rate| rate.round()).collect::<Vec<_>>(),
    })
}

/// A finished step with its number in this process.
pub fn finished_step(step: &StepResult, number: u64) -> Value {
    let measure = &step.measure;
    let text = |axis| step.coordinates.get(axis).map(|value| plain(&value.to_string()));
    let test = text(axis::TEST).or_else(|| text(axis::WORKLOAD)).unwrap_or_default();
    let words = plain(&step_words(&step.coordinates));
    // The test has its own field.
    let cell = words.strip_prefix(&test).map_or(words.as_str(), |rest| rest.trim_start_matches(", "));
    let count = |axis| match step.coordinates.get(axis) {
        Some(sharebench_model::Value::Count(number)) => Some(*number),
        _ => None,
    };
    json!({
        "number": number,
        "target": step.target,
        "repetition": step.repetition + 1,
        "test": test,
        "cell": cell,
        "load": step.coordinates.get(axis::WORKLOAD).is_some(),
        "users": count(axis::USERS),
        "starts_per_s": count(axis::RATE),
        "bytes_per_s": measure.throughput(),
        "operations_per_s": measure.operation_rate(),
        "p50_ns": measure.response.quantile(0.5),
        "p99_ns": measure.response.quantile(0.99),
        "failures": measure.error_count(),
        "verdict": step.verdict(),
    })
}
