//! Workloads learned from captures and traces: what the users of a share did, without their names and their data.

mod operation;

pub use operation::{Action, File, Observed, Operation, Outcome, Person, Protocol, Unseen};
