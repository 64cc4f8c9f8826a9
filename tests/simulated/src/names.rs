//! The time that operations on names take: the same for all, drawn, or longer in directories with more entries.

use std::collections::BTreeMap;

use sharebench_model::{MetaOp, MetaYield, OpError, OpenHow, Random, SessionOp};

use super::device::Device;

/// Draws the times of operations on names, and counts the entries of directories for them.
#[derive(Debug)]
pub(super) struct NameTimes {
    median_ns: f64,
    sigma: f64,
    entry_ns: f64,
    random: Random,
    entries: BTreeMap<String, u64>,
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The directory in which an operation looks for a name; none of operations on handles and whole directories.
fn searched(op: &SessionOp) -> Option<&str> {
    let SessionOp::Basic(op) = op else { return None };
    match op {
        MetaOp::Open { path, .. }
        | MetaOp::Stat { path }
        | MetaOp::Remove { path }
        | MetaOp::RemoveDir { path }
        | MetaOp::MakeDir { path }
        | MetaOp::SetModified { path, .. } => Some(parent(path)),
        MetaOp::Rename { to, .. } | MetaOp::Link { to, .. } => Some(parent(to)),
        _ => None,
    }
}

impl NameTimes {
    pub(super) fn from_device(device: &Device) -> Self {
        Self {
            median_ns: device.metadata_ns as f64,
            sigma: device.metadata_spread,
            entry_ns: device.entry_ns,
            random: device.metadata_random(),
            entries: BTreeMap::new(),
        }
    }

    /// How long an operation takes.
    pub(super) fn of_operation(&mut self, op: &SessionOp) -> u64 {
        let spread = if self.sigma > 0.0 { libm::exp(self.sigma * self.random.normal()) } else { 1.0 };
        let entries = searched(op).and_then(|directory| self.entries.get(directory)).copied().unwrap_or(0);
        (self.median_ns * spread + self.entry_ns * entries as f64).round() as u64
    }

    /// Counts the entries that an operation added or removed.
    pub(super) fn note(&mut self, op: &SessionOp, result: &Result<MetaYield, OpError>) {
        let SessionOp::Basic(op) = op else { return };
        if self.entry_ns <= 0.0 || result.is_err() {
            return;
        }
        let mut change = |path: &str, added: bool| {
            let entries = self.entries.entry(parent(path).to_owned()).or_default();
            *entries = if added { *entries + 1 } else { entries.saturating_sub(1) };
        };
        match op {
            MetaOp::Open { path, how: OpenHow::CreateNew, .. } | MetaOp::MakeDir { path } => {
                change(path, true);
            }
            MetaOp::Link { to, .. } => change(to, true),
            MetaOp::Remove { path } | MetaOp::RemoveDir { path } => change(path, false),
            MetaOp::Rename { from, to } => {
                change(from, false);
                change(to, true);
            }
            _ => {}
        }
    }
}
