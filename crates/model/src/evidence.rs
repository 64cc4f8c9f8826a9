//! Evidence of a step about caches and durability: counted or timed, never assumed.

use serde::{Deserialize, Serialize};

/// The part of a file that is in this machine's page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Residency {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Bytes of it in the page cache, in whole pages; at most `bytes`.
    pub resident: u64,
    /// Dirty bytes: in the page cache only, or being written back; none where the system does not report them.
    pub dirty: Option<u64>,
}

impl Residency {
    /// Resident part of the file, 0 to 1.
    pub fn share(self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.resident as f64 / self.bytes as f64 }
    }
}

/// Requests that carried a policy, as the adapter counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PolicyCount {
    /// Writes that requested stable storage, by a flag of the write or of its open file.
    pub through: u64,
    /// Writes that the server reported as stable (NFS `committed` = `FILE_SYNC`).
    pub stable: u64,
    /// Reads and writes that requested to bypass the server's cache, by their own flag or that of their open file.
    pub unbuffered: u64,
}

impl PolicyCount {
    /// The counts since the earlier reading `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            through: self.through - earlier.through,
            stable: self.stable - earlier.stable,
            unbuffered: self.unbuffered - earlier.unbuffered,
        }
    }
}

impl std::ops::AddAssign for PolicyCount {
    fn add_assign(&mut self, other: Self) {
        self.through += other.through;
        self.stable += other.stable;
        self.unbuffered += other.unbuffered;
    }
}

/// What was observed of caches and durability in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The page cache before the pass that found the largest part of the file there; none if it was not examined.
    pub before: Option<Residency>,
    /// Largest growth in bytes of the file's page cache during one pass; none if it was not examined.
    pub grown: Option<u64>,
    /// Largest number of dirty bytes after a pass; none if they were not examined.
    pub dirty: Option<u64>,
    /// Number of passes before which this machine dropped its cached pages of the file.
    pub drops: u64,
    /// Requests that carried the policy.
    pub sent: PolicyCount,
    /// Flushes within the busy time.
    pub flushes: u64,
    /// Part of the busy time that they took.
    pub flush_ns: u64,
    /// Part of the busy time that closing files took.
    pub close_ns: u64,
}

impl Evidence {
    /// Adds the evidence of another pass or job: counts and times add up; of the findings the worst remains.
    pub fn merge(&mut self, other: Self) {
        let share = |seen: &Option<Residency>| seen.map_or(-1.0, Residency::share);
        if share(&other.before) > share(&self.before) {
            self.before = other.before;
        }
        self.grown = self.grown.max(other.grown);
        self.dirty = self.dirty.max(other.dirty);
        self.drops += other.drops;
        self.sent += other.sent;
        self.flushes += other.flushes;
        self.flush_ns += other.flush_ns;
        self.close_ns += other.close_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_passes_keeps_the_worst_finding_and_adds_times() {
        let seen = |resident| Some(Residency { bytes: 100, resident, dirty: None });
        let mut all = Evidence::default();
        for (resident, grown) in [(0, None), (40, Some(3)), (10, Some(1))] {
            all.merge(Evidence {
                before: seen(resident),
                grown,
                flush_ns: 5,
                flushes: 1,
                ..Evidence::default()
            });
        }
        assert_eq!((all.before, all.grown, all.dirty), (seen(40), Some(3), None));
        assert_eq!((all.flush_ns, all.flushes), (15, 3));
    }
}
