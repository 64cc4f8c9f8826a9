//! Workloads: transactions made of operations over a data set, as typed and as resolved.

mod check;
mod data_set;
mod data_type;
mod loadfile;
mod operation;
mod replay;
mod sizes;
mod unit;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sharebench_model::Random;
use sharebench_model::units::ByteSize;

pub use data_set::{DataFile, DataSet, FileClass, Owner};
pub use data_type::{DataKind, DataType};
pub use loadfile::{Call, Disposition, Expected, Given, LeftOut, Loadfile, LoadfileLine, matches_mask};
pub use operation::{LockRange, Operation, RequestPattern, Requests, Times};
pub use sizes::Sizes;
pub use unit::{TypedUnit, Unit};

/// Which transaction a user performs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransactionOrder {
    /// Each N times according to its weight, in a random order; then again in another random order.
    #[default]
    Rounds,
    /// A random one each time, with a probability according to its weight.
    Weighted,
    /// In the listed order, each N times according to its weight.
    Sequence,
}

impl TransactionOrder {
    const NAMES: [(&'static str, Self); 3] =
        [("rounds", Self::Rounds), ("weighted", Self::Weighted), ("sequence", Self::Sequence)];
}

impl fmt::Display for TransactionOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.iter().find(|(_, order)| order == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for TransactionOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, order)| *order);
        found.ok_or_else(|| format!("'{text}' is no order; known are rounds, weighted and sequence"))
    }
}

/// A transaction as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedTransaction {
    /// What tables call it.
    pub name: Option<String>,
    /// How often among the others.
    pub weight: Option<u32>,
    /// Name of the files it picks one of.
    pub files: Option<String>,
    /// Response times above it are counted as missed.
    pub deadline: Option<Duration>,
    /// What it does with that file.
    pub operations: Option<Vec<Operation>>,
}

/// A workload as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedWorkload {
    /// What plans and tables call it.
    pub name: Option<String>,
    /// Where its facts come from, and what is a reconstruction.
    pub source: Option<String>,
    /// What its users stand for, and when a target sustains them.
    pub unit: Option<TypedUnit>,
    /// Which transaction comes next.
    pub order: Option<TransactionOrder>,
    /// Files, each kind of them in one entry.
    pub files: Vec<FileClass>,
    /// What users perform.
    pub transactions: Vec<TypedTransaction>,
    /// Name of a file of operations that each user replays, instead of files and transactions.
    pub loadfile: Option<String>,
    /// The text of that file.
    pub script: Option<String>,
}

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// What tables call it.
    pub name: String,
    /// How often among the others.
    pub weight: u32,
    /// Index into [`DataSet::classes`]; none where it needs no file.
    pub class: Option<usize>,
    /// Response times above it are counted as missed.
    pub deadline: Option<Duration>,
    /// What it does, in order.
    pub operations: Vec<Operation>,
}

impl Transaction {
    /// True when it reads or writes a file that stays open from one transaction to the next.
    pub fn keeps_open(&self) -> bool {
        let moves = |operation: &Operation| matches!(operation, Operation::Read(_) | Operation::Write(_));
        self.operations.iter().any(moves) && !self.operations.iter().any(Operation::opens)
    }

    /// True when it has the server watch the directory of its file, which stays open from one transaction to the next.
    pub fn watches(&self) -> bool {
        self.operations.contains(&Operation::Watch)
    }

    /// True when it writes to files of the data set, or copies of its own of them.
    pub fn writes(&self) -> bool {
        self.operations
            .iter()
            .any(|operation| matches!(operation, Operation::Write(_) | Operation::CopyToServer))
    }

    /// True when its file must be there before it begins.
    pub fn needs_file(&self) -> bool {
        self.operations
            .iter()
            .any(|operation| !operation.is_fileless() && *operation != Operation::CopyToServer)
    }
}

/// A mix of transactions over a data set, valid and complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Name in plans.
    pub name: String,
    /// What its users stand for; none where they are users.
    pub unit: Option<Unit>,
    /// Which transaction comes next.
    pub order: TransactionOrder,
    /// The files.
    pub set: DataSet,
    /// What users perform.
    pub transactions: Vec<Transaction>,
    /// Bytes per operation where a transaction does not set them.
    pub block: u32,
    /// What users replay instead; its types of lines are the transactions then.
    pub loadfile: Option<Arc<Loadfile>>,
}

impl Workload {
    /// The next transaction of a user; `round` is what is left of its round, and belongs to the user.
    pub fn next(&self, round: &mut Vec<usize>, random: &mut Random) -> Option<usize> {
        if self.order == TransactionOrder::Weighted {
            let all: u64 = self.transactions.iter().map(|t| u64::from(t.weight)).sum();
            let mut place = random.below(all);
            return self.transactions.iter().position(|t| {
                let here = place < u64::from(t.weight);
                place = place.saturating_sub(u64::from(t.weight));
                here
            });
        }
        if round.is_empty() {
            let each = self.transactions.iter().enumerate();
            round.extend(each.flat_map(|(index, t)| std::iter::repeat_n(index, t.weight as usize)));
            if self.order == TransactionOrder::Rounds {
                random.shuffle(round);
            }
            // They are taken from the end.
            round.reverse();
        }
        round.pop()
    }

    /// Bytes of the largest request.
    pub fn largest_request(&self) -> u32 {
        let sizes = self.transactions.iter().flat_map(|t| &t.operations).map(|operation| match operation {
            Operation::Read(requests) | Operation::Write(requests) => {
                requests.size.as_ref().map_or(u64::from(self.block), Sizes::most)
            }
            Operation::CopyToServer | Operation::CopyFromServer => u64::from(self.block),
            _ => 0,
        });
        let replayed = self.loadfile.as_ref().map_or(0, |file| file.largest_request());
        sizes.max().unwrap_or(0).max(512).min(u64::from(u32::MAX)).max(u64::from(replayed)) as u32
    }

    /// True when users write.
    pub fn writes(&self) -> bool {
        self.transactions.iter().any(Transaction::writes)
            || self.loadfile.as_ref().is_some_and(|file| file.writes())
    }

    /// True when the file of that index must be there, laid out, before users begin.
    pub fn needs(&self, file: usize) -> bool {
        let class = self.set.class_of(file);
        self.transactions.iter().any(|t| t.class == class && t.needs_file())
    }

    /// True when each user has a file of its own for that index: one of its data set, or a copy.
    pub fn has_own(&self, file: usize) -> bool {
        let class = self.set.class_of(file);
        let copied = || {
            let copies = |t: &Transaction| t.operations.contains(&Operation::CopyToServer);
            self.transactions.iter().any(|t| t.class == class && copies(t))
        };
        self.set.files[file].owner == Owner::User || copied()
    }

    /// Bytes of the shared files, and of each user's own.
    pub fn bytes_on_target(&self, users: u32) -> u64 {
        let files = self.set.files.iter().enumerate();
        let replayed = self.loadfile.as_ref().map_or(0, |file| file.most_bytes);
        files.fold(replayed.saturating_mul(u64::from(users)), |sum: u64, (index, file)| {
            let shared = u64::from(file.owner == Owner::Shared && self.needs(index));
            let own = if self.has_own(index) { u64::from(users) } else { 0 };
            sum.saturating_add(file.bytes.saturating_mul(shared + own))
        })
    }

    /// Bytes that are shared or one user's: what a scale in bytes is about.
    pub fn scale(&self) -> ByteSize {
        ByteSize(self.set.files.iter().map(|file| file.bytes).sum())
    }
}
