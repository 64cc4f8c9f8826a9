//! A diagnosis as JSON, in a versioned schema.

use serde_json::{Value, json};

use crate::diagnose::Diagnosis;
use crate::summary::limits;

/// Identifier of the schema (docs/schemas/diagnose-1.json).
const SCHEMA: &str = "urn:sharebench:schema:diagnose:1";

/// Formats a diagnosis as one JSON object.
pub fn to_json(diagnosis: &Diagnosis) -> Value {
    let evidence = &diagnosis.evidence;
    let limits: Vec<Value> = limits(evidence, &diagnosis.budgets)
        .into_iter()
        .map(|(kind, sentence)| json!({ "use": kind, "limit": sentence }))
        .collect();
    let phases: Vec<Value> =
        evidence.login.phases.iter().map(|(phase, ns)| json!({ "phase": phase, "time_ns": ns })).collect();
    let comparisons: Vec<Value> = evidence
        .comparisons
        .iter()
        .map(|(experiment, compared)| json!({ "experiment": experiment, "comparison": compared }))
        .collect();
    let omitted: Vec<Value> = evidence
        .not_compared
        .iter()
        .map(|(experiment, why)| json!({ "experiment": experiment, "why": why }))
        .collect();
    let operations: Vec<Value> = evidence
        .series
        .medians()
        .map(|(operation, ns, n)| json!({ "operation": operation, "median_ns": ns, "n": n }))
        .collect();
    json!({
        "schema": SCHEMA,
        "url": diagnosis.url,
        "protocol": evidence.protocol,
        "facts": evidence.facts,
        "mount": evidence.mount,
        "limits": limits,
        "budgets": diagnosis.budgets,
        "operations": operations,
        "network_ns": evidence.network_ns,
        "network_is_inferred": evidence.is_network_inferred,
        "findings": diagnosis.verdict.findings,
        "unsettled": diagnosis.verdict.unsettled,
        "login": { "phases": phases, "total_ns": evidence.login.total_ns },
        "write": evidence.write,
        "read_tcp": evidence.read,
        "caching_granted": evidence.is_caching_granted,
        "clock": evidence.clock,
        "server_load": evidence.server_load,
        "client_limits": evidence.client_limits,
        "refusal": evidence.refusal,
        "mount_traffic": evidence.mount.as_ref().map(|_| evidence.mount_traffic),
        "comparisons": comparisons,
        "not_compared": omitted,
        "listed_entries": evidence.entries,
        "notes": evidence.notes,
        "elapsed_s": diagnosis.elapsed_s,
        "bytes_written": diagnosis.bytes_written,
    })
}
