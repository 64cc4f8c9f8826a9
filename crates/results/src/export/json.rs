//! A run as JSON, in a versioned schema.

use std::cell::RefCell;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};
use sharebench_model::{Facts, Histogram, LoadDetail, Part, RankShare, RepeatRule, RunOutcome, StepResult};

use super::csv::{QUANTILES, known, known_bytes};
use super::steps::Steps;
use crate::error::WriteError;
use crate::stored::RunState;

/// Name and version of the JSON schema; the version changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "sharebench.run/1";

/// Writes a run as JSON, step by step. Times are nanoseconds, sizes bytes; the seed is a text because it uses 64 bits.
///
/// # Errors
/// The run cannot be read, or the output cannot be written.
pub fn write_json(steps: &dyn Steps, out: &mut dyn Write) -> Result<(), WriteError> {
    let run = steps.run();
    let targets = run.header.targets.iter().zip(&run.facts);
    let targets =
        targets.map(|(target, facts)| json!({"name": target.name, "url": target.url, "facts": facts}));
    let document = Document {
        environment: &run.header.environment,
        id: run.id.0,
        plan: &run.header.plan,
        reason: reason(&run.state),
        repeat: run.header.repeat,
        schema: SCHEMA,
        seed: run.header.seed.to_string(),
        started_unix_ms: run.header.started_unix_ms,
        state: run.state.to_string(),
        steps: StepList { steps, failure: RefCell::new(None) },
        steps_least: run.header.repeat.map_or(run.header.steps_planned, |rule| rule.steps_least),
        steps_planned: run.header.steps_planned,
        targets: targets.collect(),
        title: &run.header.title,
        version: &run.header.version,
    };
    let written = serde_json::to_writer_pretty(&mut *out, &document);
    if let Some(failure) = document.steps.failure.into_inner() {
        return Err(failure);
    }
    written.map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// The fields in the order of their names.
#[derive(Serialize)]
struct Document<'r> {
    environment: &'r Facts,
    id: i64,
    plan: &'r str,
    reason: Option<&'r str>,
    repeat: Option<RepeatRule>,
    schema: &'static str,
    seed: String,
    started_unix_ms: u64,
    state: String,
    steps: StepList<'r>,
    steps_least: u32,
    steps_planned: u32,
    targets: Vec<Json>,
    title: &'r str,
    version: &'r str,
}

/// Steps that become JSON one at a time.
struct StepList<'r> {
    steps: &'r dyn Steps,
    /// Why the steps cannot be read: the serializer's own error holds a text only.
    failure: RefCell<Option<WriteError>>,
}

impl Serialize for StepList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut unwritten = None;
        let visited = self.steps.visit(&mut |step| {
            list.serialize_element(&step_json(step)).map_err(|error| {
                unwritten = Some(error);
                WriteError::Output(io::ErrorKind::Other.into())
            })
        });
        match (unwritten, visited) {
            (Some(error), _) => Err(error),
            (None, Err(failure)) => {
                *self.failure.borrow_mut() = Some(failure);
                Err(S::Error::custom("the steps cannot be read"))
            }
            (None, Ok(())) => list.end(),
        }
    }
}

fn reason(state: &RunState) -> Option<&str> {
    match state {
        RunState::Ended(RunOutcome::Incomplete(error)) => error.reason(),
        _ => None,
    }
}

fn step_json(step: &StepResult) -> Json {
    let measure = &step.measure;
    let count = |count: u64| known(measure, count);
    let bytes = |bytes: u64| known_bytes(measure, bytes);
    json!({
        "index": step.index,
        "target": step.target,
        "repetition": step.repetition,
        "coordinates": step.coordinates,
        "started_unix_ms": count(step.started_unix_ms),
        "unmeasured_ms": count(step.unmeasured_ms.into()),
        "window_ns": measure.window_ns,
        "busy_ns": measure.busy_ns,
        "rate_base": measure.rate_base,
        "operations": count(measure.operations),
        "transactions": count(measure.transactions),
        "bytes": {"read": bytes(measure.bytes.read), "written": bytes(measure.bytes.written)},
        "verified_bytes": count(measure.verified),
        "wire": measure.wire,
        "errors": measure.errors,
        "passes": count(measure.passes),
        "users_assigned": measure.users_assigned,
        "users_reported": measure.users_reported,
        "shares": measure.shares,
        "censored": count(measure.censored),
        "response": histogram_json(&measure.response),
        "response_sample_size": measure.response_sample_size,
        "service": histogram_json(&measure.service),
        "lag": histogram_json(&measure.lag),
        "client_cpu": count(measure.client_cpu.total_ns()).map(|_| measure.client_cpu),
        "reported": measure.is_reported().then_some(&*measure.reported),
        "evidence": measure.evidence,
        "load": load_json(&measure.load),
        "ranks": measure.ranks.iter().map(rank_json).collect::<Vec<_>>(),
        "start_skew_ns": RankShare::start_skew_ns(&measure.ranks),
        "server": measure.server,
        "tcp": measure.tcp,
        "verdict": step.verdict(),
        "checks": step.checks,
    })
}

fn rank_json(share: &RankShare) -> Json {
    json!({
        "rank": share.rank,
        "host": share.host,
        "users": share.users,
        "users_reported": share.users_reported,
        "operations": share.operations,
        "transactions": share.transactions,
        "bytes": share.bytes,
        "errors": share.errors,
        "response": histogram_json(&share.response),
        "late_ns": share.late_ns,
        "clock_error_ns": share.clock_error_ns,
    })
}

/// A load taken apart; nothing for other steps.
fn load_json(load: &LoadDetail) -> Json {
    if load.is_empty() {
        return Json::Null;
    }
    let part = |part: &Part| {
        json!({
            "name": part.name,
            "count": part.count,
            "bytes": part.bytes,
            "missed": part.missed,
            "errors": part.errors,
            "response": histogram_json(&part.response),
            "service": histogram_json(&part.service),
            "lag": histogram_json(&part.lag),
        })
    };
    let parts = |parts: &[Part]| parts.iter().filter(|part| part.count > 0).map(part).collect::<Vec<_>>();
    json!({
        "transactions": parts(&load.transactions),
        "operations": parts(&load.operations),
        "fairness": load.fairness,
        "fairness_index": load.fairness.index(),
        "sessions_lost": load.sessions_lost,
        "without_session_ns": load.without_session_ns,
        "users_with_session": load.users_with_session,
        "think_ns": load.think_ns,
        "objective": load.objective,
        "unit": load.unit,
        "window_unix_ms": load.window_unix_ms,
        "timeline": load.timeline,
        "split": load.split,
        "server": load.server,
        "set_check": load.set_check,
        "users_per_session": load.users_per_session,
        "left_out": load.left_out,
        "wire_operations": load.wire_operations,
        "outside_window": load.outside,
    })
}

fn histogram_json(histogram: &Histogram) -> Json {
    let mut fields = Map::new();
    fields.insert("count".into(), histogram.len().into());
    if !histogram.is_empty() {
        fields.insert("mean_ns".into(), histogram.mean().into());
        for (name, quantile) in QUANTILES {
            fields.insert(format!("{name}_ns"), histogram.quantile(quantile).into());
        }
        fields.insert("max_ns".into(), histogram.max().into());
    }
    fields.insert("hdr_v2_base64".into(), STANDARD.encode(histogram.to_v2()).into());
    Json::Object(fields)
}
