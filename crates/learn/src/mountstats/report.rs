//! What happened on mounts between snapshots.

use super::counters::{Bytes, Counters, Events, Mount};
use super::parse::Snapshot;

/// From when on a report counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// From the first snapshot that has the mount to the last one.
    Snapshots,
    /// From the mount on: only the last snapshot has it.
    Mounted,
    /// From the mount on, because counters went backwards: it was mounted again between two snapshots, or the snapshots are not
    /// in the order of their time.
    MountedAgain,
    /// Nothing, because later snapshots do not have it, and only one earlier snapshot has it.
    Gone,
}

impl Basis {
    /// Its name in the JSON document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshots => "snapshots",
            Self::Mounted => "mounted",
            Self::MountedAgain => "mounted-again",
            Self::Gone => "gone",
        }
    }
}

/// One kind of operation of a mount.
#[derive(Debug, Clone, PartialEq)]
pub struct MountOperation {
    /// Its name, as Linux prints it.
    pub name: String,
    /// Differences of its counters.
    pub counters: Counters,
    /// Of all operations of the mount, 0 to 1.
    pub share: f64,
}

impl MountOperation {
    /// Requests that were sent again.
    pub fn retransmissions(&self) -> u64 {
        self.counters.transmissions.saturating_sub(self.counters.operations)
    }

    /// The mean of a counter for each operation.
    pub fn mean(&self, counter: impl Fn(&Counters) -> u64) -> f64 {
        counter(&self.counters) as f64 / self.counters.operations.max(1) as f64
    }
}

/// What happened on a mount.
#[derive(Debug, Clone, PartialEq)]
pub struct MountReport {
    /// From 1, in the order of appearance.
    pub number: u32,
    /// Such as `nfs4.1`.
    pub protocol: String,
    /// From when on it counts.
    pub basis: Basis,
    /// Later snapshots do not have it.
    pub is_gone: bool,
    /// Difference of the ages, s.
    pub seconds: u64,
    /// Kinds with at least one operation, the most frequent first.
    pub operations: Vec<MountOperation>,
    /// Bytes of programs and of the server.
    pub bytes: Bytes,
    /// Events.
    pub events: Events,
}

impl MountReport {
    /// Operations of all kinds.
    pub fn count(&self) -> u64 {
        self.operations.iter().fold(0, |sum, kind| sum.saturating_add(kind.counters.operations))
    }

    /// Operations per second; none for less than a second.
    pub fn rate(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.count() as f64 / self.seconds as f64)
    }
}

/// Differences of the counters of a mount.
struct Difference {
    seconds: u64,
    operations: Vec<(String, Counters)>,
    bytes: Bytes,
    events: Events,
}

/// The mounts of all snapshots, which are in the order of their time.
pub fn mount_reports(snapshots: &[Snapshot]) -> Vec<MountReport> {
    let mut seen: Vec<&Mount> = Vec::new();
    for mount in snapshots.iter().flat_map(|snapshot| &snapshot.mounts) {
        if !seen.iter().any(|other| other.identity == mount.identity) {
            seen.push(mount);
        }
    }
    let reports = seen.iter().zip(1..).map(|(mount, number)| {
        let states: Vec<Option<&Mount>> = snapshots
            .iter()
            .map(|snapshot| snapshot.mounts.iter().find(|other| other.identity == mount.identity))
            .collect();
        of_mount(number, &states)
    });
    reports.collect()
}

/// The report on a mount, given its state in each snapshot.
fn of_mount(number: u32, states: &[Option<&Mount>]) -> MountReport {
    let is_gone = states.last().is_some_and(Option::is_none);
    // A mount that is missing in between was mounted again, if its counters do not show that they continued.
    let present: Vec<&Mount> = states.iter().filter_map(|state| *state).collect();
    let went_backwards = present.windows(2).any(|pair| match pair {
        [earlier, later] => since(later, earlier).is_none(),
        _ => false,
    });
    let first = present.first().copied();
    let last = present.last().copied();
    let (basis, difference) = match (first, last) {
        (Some(first), Some(last)) if present.len() > 1 && !went_backwards => {
            (Basis::Snapshots, since(last, first))
        }
        (_, Some(last)) if went_backwards => (Basis::MountedAgain, Some(whole(last))),
        (_, Some(last)) if !is_gone => (Basis::Mounted, Some(whole(last))),
        _ => (Basis::Gone, None),
    };
    let difference = difference.unwrap_or(Difference {
        seconds: 0,
        operations: Vec::new(),
        bytes: Bytes::default(),
        events: Events::default(),
    });
    let total: u64 =
        difference.operations.iter().fold(0, |sum, (_, counters)| sum.saturating_add(counters.operations));
    let mut operations: Vec<MountOperation> = difference
        .operations
        .into_iter()
        .filter(|(_, counters)| counters.operations > 0)
        .map(|(name, counters)| MountOperation {
            share: counters.operations as f64 / total.max(1) as f64,
            name,
            counters,
        })
        .collect();
    operations.sort_by_key(|kind| std::cmp::Reverse(kind.counters.operations));
    MountReport {
        number,
        protocol: last.map_or_else(String::new, |mount| mount.protocol.clone()),
        basis,
        is_gone,
        seconds: difference.seconds,
        operations,
        bytes: difference.bytes,
        events: difference.events,
    }
}

/// What was added since an earlier snapshot; none if a counter or the age went backwards.
fn since(later: &Mount, earlier: &Mount) -> Option<Difference> {
    let mut operations = Vec::new();
    for (name, counters) in &later.operations {
        let added = match earlier.counters(name) {
            Some(before) => counters.since(before)?,
            None => *counters,
        };
        operations.push((name.clone(), added));
    }
    Some(Difference {
        seconds: later.age_s.checked_sub(earlier.age_s)?,
        operations,
        bytes: later.bytes.since(&earlier.bytes)?,
        events: later.events.since(&earlier.events)?,
    })
}

fn whole(mount: &Mount) -> Difference {
    let Mount { age_s, operations, bytes, events, .. } = mount;
    Difference { seconds: *age_s, operations: operations.clone(), bytes: *bytes, events: *events }
}
