//! The results of a load step in detail: by transaction type, by operation type, by virtual user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Histogram, IoBytes, LoadUnit, Timeline, WireCount};

/// The results of one transaction type, or of one operation type, within the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Name of the type, such as `text-to-server` or `open`.
    pub name: String,
    /// Number that succeeded.
    pub count: u64,
    /// Application bytes transferred.
    pub bytes: u64,
    /// Number whose response time exceeded the deadline.
    pub missed: u64,
    /// Number that failed, by error class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Response time: ended - intended. Operations count as intended when they start.
    pub response: Histogram,
    /// Service time: ended - started.
    pub service: Histogram,
    /// Lag: started - intended. Empty for operations.
    pub lag: Histogram,
}

impl Part {
    /// An empty part with this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds the counts of another thread for the same type.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.missed += other.missed;
        for (class, count) in &other.errors {
            *self.errors.entry(*class).or_default() += count;
        }
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
    }
}

/// How evenly the target served the users: sums over the transactions that each user completed in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fairness {
    /// Number of users.
    pub users: u64,
    /// Fewest transactions of a user.
    pub least: u64,
    /// Largest number of transactions of a user.
    pub most: u64,
    /// Transactions of all users.
    pub sum: u64,
    /// Sum of the squares of each user's transactions.
    pub squares: u64,
}

impl Fairness {
    /// Adds one user.
    pub fn add(&mut self, transactions: u64) {
        let one = Self {
            users: 1,
            least: transactions,
            most: transactions,
            sum: transactions,
            squares: transactions.saturating_mul(transactions),
        };
        self.merge(one);
    }

    /// Adds other users.
    pub fn merge(&mut self, other: Self) {
        self.least = match (self.users, other.users) {
            (0, _) => other.least,
            (_, 0) => self.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.users += other.users;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Jain's fairness index: 1 if all users completed equally many transactions, 1/n if one of n completed all;
    /// none without transactions.
    ///
    /// Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984.
    pub fn index(&self) -> Option<f64> {
        (self.squares > 0)
            .then(|| (self.sum as f64) * (self.sum as f64) / (self.users as f64 * self.squares as f64))
    }
}

/// Blocks larger than one request can carry, which the engine splits into several requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitBlocks {
    /// Number of blocks.
    pub blocks: u64,
    /// Requests of all blocks.
    pub requests: u64,
    /// Bytes of the largest block.
    pub largest: u32,
    /// Requests of the largest block.
    pub most: u32,
}

impl SplitBlocks {
    /// Adds one block.
    pub fn add(&mut self, bytes: u32, requests: u32) {
        self.merge(Self { blocks: 1, requests: u64::from(requests), largest: bytes, most: requests });
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.requests += other.requests;
        self.largest = self.largest.max(other.largest);
        self.most = self.most.max(other.most);
    }
}

/// Files that were read again after an outage, to verify their content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCheck {
    /// Number of files that could be read.
    pub files: u64,
    /// Bytes whose expected content was known, and which matched it.
    pub bytes: u64,
    /// Files whose content differs from what was last written to them.
    pub wrong: u64,
    /// Number of files that could not be read.
    pub unread: u64,
}

impl SetCheck {
    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.wrong += other.wrong;
        self.unread += other.unread;
    }
}

/// Counts of what the users of a load did in some time. Each transaction and each operation is counted where it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadCounts {
    /// Transactions that succeeded.
    pub transactions: u64,
    /// Operations that succeeded.
    pub operations: u64,
    /// Application bytes.
    pub bytes: IoBytes,
    /// Requests and bytes on the wire, where the target counts them.
    pub wire: WireCount,
}

impl std::ops::AddAssign for LoadCounts {
    fn add_assign(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.operations += other.operations;
        self.bytes.read += other.bytes.read;
        self.bytes.written += other.bytes.written;
        self.wire += other.wire;
    }
}

/// The load of the server during the window, as a monitoring endpoint reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerLoad {
    /// Utilization of all its processors, 0..1.
    pub cpu: f64,
    /// Number of processors; none where the source does not report it.
    pub cores: Option<u32>,
    /// Name of the metric.
    pub source: String,
}

/// A service level objective, and whether the step met it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveReport {
    /// The objective as written in the plan.
    pub wanted: String,
    /// True if the step met every part of it.
    pub kept: bool,
    /// The measured values, compared with the limits.
    pub detail: String,
}

/// The results of a load step in detail.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadDetail {
    /// By transaction type, in the workload's order.
    pub transactions: Vec<Part>,
    /// By operation type, in a fixed order. Tables omit types that did not occur.
    pub operations: Vec<Part>,
    /// By user. Empty for open loads, whose users are a pool of connections.
    pub fairness: Fairness,
    /// Number of sessions lost within the window.
    pub sessions_lost: u64,
    /// Time without a session within the window, summed over all users, in nanoseconds.
    pub without_session_ns: u64,
    /// Number of users that had a session when the window ended. Users between two visits of an open load have none.
    pub users_with_session: u32,
    /// Mean of the think times that the plan requests, in nanoseconds; 0 for open loads.
    pub think_ns: u64,
    /// The objective, where the plan has one.
    pub objective: Option<ObjectiveReport>,
    /// What each user stands for, where the workload states it.
    pub unit: Option<LoadUnit>,
    /// Start of the window, milliseconds since 1970 (UTC), to match it with records of other programs.
    pub window_unix_ms: u64,
    /// The results over time within the window.
    pub timeline: Timeline,
    /// Blocks that were split into several requests.
    pub split: SplitBlocks,
    /// Operations of the protocol in the requests of the window, where a request may carry several; 0 elsewhere.
    pub wire_operations: u64,
    /// Verification of the data set after users had lost their sessions.
    pub set_check: SetCheck,
    /// Maximum number of users that shared a session; 0 where the source does not report it.
    pub users_per_session: u32,
    /// Lines of a loadfile that were not replayed, by operation and reason.
    pub left_out: BTreeMap<String, u64>,
    /// Load of the server during the window, where it was monitored.
    pub server: Option<ServerLoad>,
    /// What users did outside the window, where they stay logged on from step to step: since the window of the step
    /// before ended, and in the last step also until they had logged off. The windows of all steps and these counts
    /// together are everything that the users did. None where each step logs on its own users.
    pub outside: Option<LoadCounts>,
}

impl LoadDetail {
    /// Adds the counts of another thread in the same step.
    pub fn merge(&mut self, other: Self) {
        merge_parts(&mut self.transactions, other.transactions);
        merge_parts(&mut self.operations, other.operations);
        self.fairness.merge(other.fairness);
        self.sessions_lost += other.sessions_lost;
        self.without_session_ns += other.without_session_ns;
        self.users_with_session += other.users_with_session;
        self.think_ns = self.think_ns.max(other.think_ns);
        self.objective = self.objective.take().or(other.objective);
        self.unit = self.unit.take().or(other.unit);
        self.window_unix_ms = self.window_unix_ms.max(other.window_unix_ms);
        self.timeline.merge(&other.timeline);
        self.split.merge(other.split);
        self.wire_operations += other.wire_operations;
        self.set_check.merge(other.set_check);
        self.users_per_session = self.users_per_session.max(other.users_per_session);
        for (what, count) in other.left_out {
            *self.left_out.entry(what).or_default() += count;
        }
        self.server = self.server.take().or(other.server);
        self.outside = match (self.outside.take(), other.outside) {
            (Some(mut one), Some(more)) => {
                one += more;
                Some(one)
            }
            (one, more) => one.or(more),
        };
    }

    /// True for steps that do not belong to a load test.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.operations.is_empty()
    }

    /// Number of transactions of all types that missed their deadline.
    pub fn missed(&self) -> u64 {
        self.transactions.iter().map(|part| part.missed).sum()
    }
}

fn merge_parts(parts: &mut Vec<Part>, others: Vec<Part>) {
    for other in others {
        match parts.iter_mut().find(|part| part.name == other.name) {
            Some(part) => part.merge(&other),
            None => parts.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equal_users_and_small_if_one_user_gets_all() {
        let of = |counts: &[u64]| {
            let mut fairness = Fairness::default();
            for count in counts {
                fairness.add(*count);
            }
            fairness
        };
        assert_eq!(of(&[7, 7, 7]).index(), Some(1.0));
        assert_eq!(of(&[8, 0, 0, 0]).index(), Some(0.25));
        assert_eq!((of(&[3, 9, 5]).least, of(&[3, 9, 5]).most), (3, 9));
        assert_eq!(of(&[]).index(), None);
        let mut one = of(&[1, 2]);
        let other = of(&[3]);
        one.merge(other);
        assert_eq!(one, of(&[1, 2, 3]));
    }

    #[test]
    fn parts_of_several_threads_add_up_by_name() {
        let part = |name: &str, count| Part { count, ..Part::named(name) };
        let mut one = LoadDetail { transactions: vec![part("a", 1)], ..LoadDetail::default() };
        one.merge(LoadDetail { transactions: vec![part("b", 2), part("a", 3)], ..LoadDetail::default() });
        assert_eq!(one.transactions, [part("a", 4), part("b", 2)]);
    }
}
