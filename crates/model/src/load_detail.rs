//! A step of users taken apart: by kind of transaction, by kind of operation, by user.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Histogram, Timeline};

/// What one kind of transaction, or of operation, did within the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Such as `text-to-server`, or `open`.
    pub name: String,
    /// How many ended well.
    pub count: u64,
    /// Application bytes they moved.
    pub bytes: u64,
    /// Those whose response time was above their deadline.
    pub missed: u64,
    /// How many failed, by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// ended - intended; operations are intended when they start.
    pub response: Histogram,
    /// ended - started.
    pub service: Histogram,
    /// started - intended; empty for operations.
    pub lag: Histogram,
}

impl Part {
    /// Nothing yet.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds what another thread counted of the same kind.
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

/// How evenly users were served: sums over the transactions that each user ended in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fairness {
    /// Users.
    pub users: u64,
    /// Fewest transactions of a user.
    pub least: u64,
    /// Most transactions of a user.
    pub most: u64,
    /// Transactions of all.
    pub sum: u64,
    /// Squares of each user's transactions, summed.
    pub squares: u64,
}

impl Fairness {
    /// One more user.
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

    /// Jain's index: 1 when all got the same, 1/n when one of n got everything; none without transactions.
    ///
    /// Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984.
    pub fn index(&self) -> Option<f64> {
        (self.squares > 0)
            .then(|| (self.sum as f64) * (self.sum as f64) / (self.users as f64 * self.squares as f64))
    }
}

/// Blocks that one request did not carry, so that the engine made several of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitBlocks {
    /// How many blocks.
    pub blocks: u64,
    /// Requests of all of them.
    pub requests: u64,
    /// Bytes of the largest.
    pub largest: u32,
    /// Requests that it took.
    pub most: u32,
}

impl SplitBlocks {
    /// One more block.
    pub fn add(&mut self, bytes: u32, requests: u32) {
        self.merge(Self { blocks: 1, requests: u64::from(requests), largest: bytes, most: requests });
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.requests += other.requests;
        self.largest = self.largest.max(other.largest);
        self.most = self.most.max(other.most);
    }
}

/// Files that were read once more after an outage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCheck {
    /// How many could be read.
    pub files: u64,
    /// Bytes of them of which it was known what they must be, and which they were.
    pub bytes: u64,
    /// Files of these that did not hold what was last written to them.
    pub wrong: u64,
    /// Files that could not be read.
    pub unread: u64,
}

impl SetCheck {
    /// Adds another thread's.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.wrong += other.wrong;
        self.unread += other.unread;
    }
}

/// What a monitoring endpoint said of the server during the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerLoad {
    /// Share of all its processors' time that was used, 0..1.
    pub cpu: f64,
    /// Processors behind that figure; none where the source does not tell.
    pub cores: Option<u32>,
    /// Which metric it was taken from.
    pub source: String,
}

/// What was to be kept, and whether it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveReport {
    /// As the plan says it.
    pub wanted: String,
    /// True when every part was kept.
    pub kept: bool,
    /// The arithmetic.
    pub detail: String,
}

/// A step of users taken apart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadDetail {
    /// By kind of transaction, in the workload's order.
    pub transactions: Vec<Part>,
    /// By kind of operation, in an order of its own; kinds that did not happen are left out of tables.
    pub operations: Vec<Part>,
    /// By user; nothing for open loads, whose users are no users.
    pub fairness: Fairness,
    /// Sessions that were lost within the window.
    pub sessions_lost: u64,
    /// Time users spent without a session within the window, summed over users, in nanoseconds.
    pub without_session_ns: u64,
    /// Mean of the pauses that were asked for between transactions, in nanoseconds; 0 for open loads.
    pub think_ns: u64,
    /// The objective, where the plan has one.
    pub objective: Option<ObjectiveReport>,
    /// When the window began, milliseconds since 1970 (UTC): for what others recorded meanwhile.
    pub window_unix_ms: u64,
    /// The window's course.
    pub timeline: Timeline,
    /// Blocks that took several requests.
    pub split: SplitBlocks,
    /// What was read again because users had lost their sessions.
    pub set_check: SetCheck,
    /// Users who shared a session, at most; 0 in results of old, which had one for each.
    pub users_per_session: u32,
    /// Lines of a loadfile that were not performed, by operation and why.
    pub left_out: BTreeMap<String, u64>,
    /// The server during the window, where somebody measured it.
    pub server: Option<ServerLoad>,
}

impl LoadDetail {
    /// Adds what another thread counted in the same step.
    pub fn merge(&mut self, other: Self) {
        merge_parts(&mut self.transactions, other.transactions);
        merge_parts(&mut self.operations, other.operations);
        self.fairness.merge(other.fairness);
        self.sessions_lost += other.sessions_lost;
        self.without_session_ns += other.without_session_ns;
        self.think_ns = self.think_ns.max(other.think_ns);
        self.objective = self.objective.take().or(other.objective);
        self.window_unix_ms = self.window_unix_ms.max(other.window_unix_ms);
        self.timeline.merge(&other.timeline);
        self.split.merge(other.split);
        self.set_check.merge(other.set_check);
        self.users_per_session = self.users_per_session.max(other.users_per_session);
        for (what, count) in other.left_out {
            *self.left_out.entry(what).or_default() += count;
        }
        self.server = self.server.take().or(other.server);
    }

    /// True for steps that are no load's.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.operations.is_empty()
    }

    /// Deadlines missed by all transactions.
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
    fn fairness_is_one_for_equals_and_small_for_one_who_gets_all() {
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
        let (mut one, other) = (of(&[1, 2]), of(&[3]));
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
