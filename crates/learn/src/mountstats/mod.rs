//! Counters of the NFS mounts of a Linux client: copies of /proc/self/mountstats (mountstats(8)).
//!
//! They count operations and do not show them one by one, so that they become a report and no workload. `parse` reads a
//! snapshot, `counters` is what it has of a mount, and `report` compares snapshots.

mod counters;
mod parse;
mod report;

pub use counters::{Bytes, Counters, Events};
pub use parse::{Snapshot, SnapshotError, is_snapshot};
pub use report::{Basis, MountOperation, MountReport, mount_reports};

#[cfg(test)]
mod tests;
