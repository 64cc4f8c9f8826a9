//! The report on mounts as JSON (docs/schemas/learn-1.json).

use serde_json::{Value, json};

use super::document::SCHEMA;
use crate::mountstats::{MountOperation, MountReport};

/// One JSON object with all mounts.
pub fn mounts_to_json(reports: &[MountReport], snapshots: usize) -> Value {
    json!({
        "schema": SCHEMA,
        "snapshots": snapshots,
        "mounts": reports.iter().map(mount).collect::<Vec<_>>(),
    })
}

fn mount(report: &MountReport) -> Value {
    let MountReport { bytes, events, .. } = report;
    json!({
        "mount": report.number,
        "protocol": report.protocol,
        "basis": report.basis.name(),
        "gone": report.is_gone,
        "seconds": report.seconds,
        "operations": report.count(),
        "operations_per_s": report.rate(),
        "kinds": report.operations.iter().map(kind).collect::<Vec<_>>(),
        "bytes": {
            "normal_read": bytes.normal_read,
            "normal_written": bytes.normal_written,
            "direct_read": bytes.direct_read,
            "direct_written": bytes.direct_written,
            "server_read": bytes.server_read,
            "server_written": bytes.server_written,
        },
        "client_cache_share": bytes.client_cache_share(),
        "events": {
            "opens": events.opens,
            "silly_renames": events.silly_renames,
            "short_reads": events.short_reads,
            "short_writes": events.short_writes,
            "delays": events.delays,
        },
    })
}

fn kind(kind: &MountOperation) -> Value {
    let counters = &kind.counters;
    json!({
        "operation": kind.name,
        "count": counters.operations,
        "share": kind.share,
        "bytes_sent": counters.bytes_sent,
        "bytes_received": counters.bytes_received,
        "retransmissions": kind.retransmissions(),
        "timeouts": counters.timeouts,
        "mean_queue_ms": kind.mean(|counters| counters.queue_ms),
        "mean_rtt_ms": kind.mean(|counters| counters.rtt_ms),
        "mean_execute_ms": kind.mean(|counters| counters.execute_ms),
        "errors": counters.errors,
    })
}
