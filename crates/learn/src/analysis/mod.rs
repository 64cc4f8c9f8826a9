//! From operations to a workload: sequences, classes of files, transactions, think times, users.

mod assemble;
mod by_name;
mod classes;
mod coverage;
mod gap;
mod learned;
mod mix;
mod pattern;
mod sequence;
mod streams;
mod transactions;
mod transfer;

pub(crate) use by_name::{Role, roles};
pub use classes::{Class, Stratum};
pub use coverage::{Coverage, NotExpressed};
pub use learned::{Learned, learn};
pub use mix::MixRow;
pub use sharebench_plan::Think;
pub use streams::UsersOverTime;
pub use transactions::Transaction;
