//! The result of `learn` as JSON (docs/schemas/learn-1.json).

use serde_json::{Value, json};
use sharebench_plan::Sizes;

use crate::analysis::{Class, Learned, Transaction};
use crate::fit::Fit;
use crate::operation::Protocol;
use crate::server::{KindReport, Percentile, ServerReport, UserReport};

/// Identifier of the schema (docs/schemas/learn-1.json).
pub const SCHEMA: &str = "urn:sharebench:schema:learn:1";

/// One JSON object with the server and the workload.
pub fn to_json(report: &ServerReport, learned: &Learned) -> Value {
    json!({
        "schema": SCHEMA,
        "duration_ns": report.duration,
        "started_unix_s": (report.started > 0).then_some(report.started),
        "server": server(report),
        "workload": workload(learned),
    })
}

fn server(report: &ServerReport) -> Value {
    let caches = &report.caches;
    let unseen = &report.unseen;
    json!({
        "users": report.users,
        "clients": report.clients,
        "operations": report.operations,
        "bytes_read": report.bytes.0,
        "bytes_written": report.bytes.1,
        "kinds": report.kinds.iter().map(kind).collect::<Vec<_>>(),
        "slowest_users": report.slowest_users.iter().map(user).collect::<Vec<_>>(),
        "usual_user_p95_ns": report.usual_user_p95,
        "caches": {
            "opens_to_read": caches.opens_to_read,
            "opens_without_read": caches.opens_without_read,
            "bytes_read": caches.bytes_read,
            "bytes_read_again": caches.bytes_read_again,
            "attribute_requests": caches.attribute_requests,
            "attributes_again": caches.attributes_again,
        },
        "unseen": {
            "lost_bytes": unseen.lost_bytes,
            "began_before": unseen.began_before,
            "encrypted": unseen.encrypted,
            "cut": unseen.cut,
            "not_understood": unseen.not_understood,
            "forgotten": unseen.forgotten,
            "without_reply": unseen.without_reply,
            "without_request": unseen.without_request,
            "clock_steps": unseen.clock_steps,
            "without_duration": unseen.without_duration,
            "resolution_ns": unseen.resolution_ns,
        },
    })
}

fn kind(kind: &KindReport) -> Value {
    json!({
        "operation": kind.operation,
        "size_class": kind.size_class,
        "count": kind.count,
        "not_found": kind.not_found,
        "failed": kind.failed,
        "bytes": kind.bytes,
        "sizes": kind.sizes.iter().map(|size| json!({ "p": size.p, "bytes": size.bytes })).collect::<Vec<_>>(),
        "response": kind.response.iter().map(percentile).collect::<Vec<_>>(),
    })
}

fn percentile(percentile: &Percentile) -> Value {
    json!({
        "p": percentile.p,
        "ns": percentile.ns,
        "low_ns": percentile.interval.map(|interval| interval.0),
        "high_ns": percentile.interval.map(|interval| interval.1),
    })
}

fn user(user: &UserReport) -> Value {
    json!({
        "user": user.user,
        "client": user.client,
        "protocol": protocol_name(user.protocol),
        "count": user.count,
        "response": user.response.iter().map(percentile).collect::<Vec<_>>(),
    })
}

fn workload(learned: &Learned) -> Value {
    let users = &learned.users;
    let coverage = &learned.coverage;
    json!({
        "gap_ns": learned.gap,
        "think": {
            "law": learned.think.law.to_string(),
            "mean_ns": learned.mean_think,
            "pauses": learned.think.n,
            "ks": learned.think.ks,
            "burst": learned.burst,
        },
        "users": {
            "users": users.users,
            "streams": users.streams,
            "mean_active": users.mean_active,
            "peak": users.peak,
            "slot_ns": users.slot_ns,
            "active": users.active,
        },
        "writes": learned.writes.0,
        "stable_writes": learned.writes.1,
        "classes": learned.classes.iter().map(class).collect::<Vec<_>>(),
        "transactions": learned.transactions.iter().map(|t| transaction(t, learned)).collect::<Vec<_>>(),
        "mix": learned.mix.iter().map(|row| json!({
            "operation": row.operation,
            "captured": row.captured,
            "captured_share": row.captured_share,
            "preset_share": row.preset_share,
        })).collect::<Vec<_>>(),
        "coverage": {
            "operations": coverage.operations,
            "expressed": coverage.expressed,
            "not_expressed": coverage.not_expressed.iter().map(|left_out| json!({
                "what": left_out.what,
                "operations": left_out.operations,
            })).collect::<Vec<_>>(),
            "simplified": coverage.simplified,
        },
    })
}

fn sizes(fit: &Fit<Sizes>) -> Value {
    json!({ "law": fit.law.to_string(), "n": fit.n, "ks": fit.ks })
}

fn class(class: &Class) -> Value {
    json!({
        "name": class.name,
        "data": class.data,
        "size_class": class.stratum.name(),
        "own": class.is_own,
        "seen": class.seen,
        "count": class.count,
        "size": sizes(&class.size),
        "assumed": class.is_assumed,
        "fan_out": class.fan_out,
        "depth": class.depth,
        "sequences": class.sequences,
    })
}

fn transaction(transaction: &Transaction, learned: &Learned) -> Value {
    json!({
        "name": transaction.name,
        "files": transaction.class.and_then(|class| learned.classes.get(class)).map(|class| class.name.as_str()),
        "weight": transaction.weight,
        "covered": transaction.covered,
        "operations": transaction.operations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "read_sizes": transaction.read_sizes.as_ref().map(sizes),
        "write_sizes": transaction.write_sizes.as_ref().map(sizes),
    })
}

/// The name of a protocol.
pub fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Nfs3 => "nfs3",
        Protocol::Nfs4 => "nfs4",
        Protocol::Smb2 => "smb2",
        Protocol::Smb1 => "smb1",
        Protocol::Ncp => "ncp",
        Protocol::SystemCalls => "system-calls",
        Protocol::AuditLog => "audit-log",
    }
}
