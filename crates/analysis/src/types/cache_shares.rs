//! Where the bytes of a cell came from, or went to: shares of client cache, server cache and storage.

use serde::{Deserialize, Serialize};
use sharebench_model::WhileProbed;
use sharebench_model::units::percent;

use crate::types::StorageEvidence;

/// A share of the bytes, 0..1: the same twice where it is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ShareRange {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl ShareRange {
    pub(crate) fn exactly(share: f64) -> Self {
        Self { low: share, high: share }
    }

    pub(crate) fn about(share: f64, error: f64, most: f64) -> Self {
        Self { low: (share - error).clamp(0.0, most), high: (share + error).clamp(0.0, most) }
    }

    /// The middle.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Half of the width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What the shares rest on, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Counters on both sides.
    A,
    /// Probes ahead of the workload.
    B,
    /// Bounds only.
    C,
}

/// Where a cell's bytes came from; the middles sum to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheShares {
    /// The client's cache.
    pub client: ShareRange,
    /// The server's cache.
    pub server: ShareRange,
    /// Storage.
    pub storage: ShareRange,
    /// What the split rests on.
    pub grade: Grade,
    /// How well hot and cold probes were separated (J); none without probes.
    pub separation: Option<f64>,
    /// Bytes on the wire per byte of the application, where they were counted and more than one.
    pub amplification: Option<f64>,
    /// Why server cache and storage are not separated, or another remark.
    pub note: Option<String>,
    /// True if there is evidence from the server: probes, or its storage's counter.
    #[serde(default)]
    pub server_examined: bool,
    /// Evidence from the server.
    #[serde(default)]
    pub storage_evidence: StorageEvidence,
}

impl CacheShares {
    /// `0 % client / 22 % server cache / 78 % storage ±5 (grade B, J 0.99)`.
    pub fn label(&self) -> String {
        let separation = self.separation.map_or(String::new(), |j| format!(", J {j:.2}"));
        let known = self.server.half_width() < 0.25 || self.grade < Grade::C;
        let client = match (self.client.high - self.client.low) * 100.0 {
            open if open < 2.0 => format!("{} client", percent(self.client.middle(), 0)),
            _ => format!("at least {} client", percent(self.client.low, 0)),
        };
        if !known || self.grade == Grade::C {
            let rest = percent(self.server.high, 0);
            return match self.client.low {
                low if low >= 1.0 => format!("{client} (grade {:?}{separation})", self.grade),
                _ => {
                    format!("{client} / {rest} server cache or storage (grade {:?}{separation})", self.grade)
                }
            };
        }
        let error = self.storage.half_width() * 100.0;
        let error = if error < 0.5 { String::new() } else { format!(" ±{error:.0}") };
        format!(
            "{client} / {} server cache / {} storage{error} (grade {:?}{separation})",
            percent(self.server.middle(), 0),
            percent(self.storage.middle(), 0),
            self.grade
        )
    }
}

/// Timed passes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimedPasses {
    /// All.
    pub all: u64,
    /// Those that began with an emptied cache of the server.
    pub emptied: u64,
}

/// Bytes of one cell's windows, file data only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedBytes {
    /// Delivered to, or accepted from, the application.
    pub application: u64,
    /// On the wire; none without a count.
    pub wire: Option<u64>,
    /// What the client's cache may have fetched beyond what was asked for: its read-ahead window.
    pub read_ahead: u64,
    /// Read from storage by the server, by its own counters.
    pub storage: Option<u64>,
    /// What the workload and the storage read afterwards, while probes were made.
    pub while_probed: Option<WhileProbed>,
    /// Passes, and how many of them began with the server's cache emptied.
    pub passes: TimedPasses,
}
